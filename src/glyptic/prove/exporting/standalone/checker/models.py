"""Reading a transformer: its names, its options and its arrays, which must fit together."""

from __future__ import annotations

from math import prod
from typing import Any

from .activations import KINDS
from .numbers import Format, format_named
from .reading import fields_of, is_coordinate, is_list, is_token, need, need_names
from .transformer import OPTIONS, Model, has_feed_forward


def read_model(data: Any, what: str) -> Model:
    """A transformer whole; names, options and shapes must fit together."""
    names = ("name", "format", "vocabulary", "coordinates", "answers", "options", "heads", "arrays")
    data = fields_of(data, what, *names, optional=("history", "choices", "period"))
    need(isinstance(data["name"], str) and isinstance(data["format"], str), f"{what} has a name or format that is no text.")
    lists = {part: is_list(data[part], str, f"{what}.{part}") for part in ("vocabulary", "coordinates", "answers")}
    for part, words in lists.items():
        need(0 < len(set(words)) == len(words) and all(words), f"{what}.{part} has no name, an empty one, or one twice.")
        need_names(words, is_coordinate if part == "coordinates" else is_token, f"{what}.{part}")
    need(not {"TIE", "UNDEFINED"} & set(lists["answers"]), f"{what}.answers has TIE or UNDEFINED, which mean something else.")
    options = fields_of(data["options"], f"{what}.options", *OPTIONS)
    for option, chosen in options.items():
        allowed = any(chosen is choice or (chosen == choice and type(choice) is str) for choice in OPTIONS[option])
        need(allowed, f"{what}.options.{option} is {chosen!r}.")
    heads = is_list(data["heads"], int, f"{what}.heads")
    need(all(0 <= count <= 10_000 for count in heads), f"{what}.heads are {heads}.")
    need(isinstance(data["arrays"], dict), f"{what}.arrays is not an object.")
    format = format_named(data["format"])
    arrays = {name: read_array(array, format, f"{what}.{name}") for name, array in data["arrays"].items()}
    shapes = {name: tuple(array["shape"]) for name, array in data["arrays"].items()}
    named = (lists["vocabulary"], lists["coordinates"], lists["answers"])
    chosen = read_choices(data.get("choices", {}), heads, arrays, what)
    model = Model(data["name"], format, *named, options, heads, arrays, chosen, data.get("period"))
    check_shapes(model, shapes, what)
    possible = model.period is None or (type(model.period) is int and 0 < model.period <= len(arrays["position_embedding"]))
    need(possible, f"{what}.period is {model.period!r}.")
    turns = model.period is not None and any(name.endswith(".cosine") for name in arrays)
    need(not turns, f"{what} turns by the angles of some positions, and has a period without end.")
    return model


def read_choices(data: Any, heads: list[int], arrays: dict[str, Any], what: str) -> dict[str, Any]:
    """What is chosen beside the arrays: kinds of norms, activations but for relu, which is not written, parallel layers."""
    need(isinstance(data, dict), f"{what}.choices is not an object.")
    for name, chosen in data.items():
        part, _, choice = str(name).rpartition(".")
        norm = choice == "kind" and f"{part}.gain" in arrays and chosen in ("rms", "rms_outside")
        parallel = choice == "parallel" and chosen is True and part in {f"layers.{l}" for l in range(len(heads))}
        active = choice == "activation" and f"{part}.w1" in arrays and chosen in KINDS[1:]
        need(norm or parallel or active, f"{what}.choices has {name!r}: {chosen!r}, which is no choice of its parts.")
    return dict(data)


def check_shapes(model: Model, shapes: dict[str, tuple[int, ...]], what: str) -> None:
    """Every array that the model needs is there, of the right shape, and no other."""
    d, rows = len(model.coordinates), lambda name: (shapes.get(name) or (0,))[0]
    wanted: dict[str, tuple[int, ...]] = {
        "token_embedding": (len(model.vocabulary), d),
        "position_embedding": (rows("position_embedding"), d),
        "output": (len(model.answers), d),
    }
    norms = [name for name in ("final_norm", "embedding_norm") if f"{name}.gain" in shapes]
    wanted |= {"output_bias": (len(model.answers),)} if "output_bias" in shapes else {}
    for l, count in enumerate(model.heads):
        for part in (f"layers.{l}.heads.{h}" for h in range(count)):
            k, v = rows(f"{part}.query"), rows(f"{part}.value")
            wanted |= {f"{part}.query": (k, d), f"{part}.key": (k, d), f"{part}.value": (v, d), f"{part}.output": (d, v)}
            wanted |= {name: shape for name, shape in more_of_a_head(part, k, v, d, shapes).items() if name in shapes}
            turns = shapes.get(f"{part}.cosine", (rows("position_embedding"), 0))
            need(turns[0] >= rows("position_embedding") and 2 * turns[-1] <= k, f"{what}.{part}.cosine has a wrong shape.")
            need((f"{part}.cosine" in shapes) == (f"{part}.sine" in shapes), f"{what}.{part} has a cosine or a sine alone.")
            tables = [f"{part}.distance_{name}" for name in ("scores", "keys", "values") if f"{part}.distance_{name}" in shapes]
            need(not tables or model.options["mask"] != "full", f"{what}.{part} has tables by distance, and the mask is full.")
            need(all(rows(table) for table in tables), f"{what}.{part} has a table without rows.")
            need(k > 0 or not model.options["scale"], f"{what}.{part}.query has no rows, and scores are scaled.")
        part = f"layers.{l}.feed_forward"
        if has_feed_forward(model, l):
            m = rows(f"{part}.w1")
            wanted |= {f"{part}.w1": (m, d), f"{part}.b1": (m,), f"{part}.w2": (d, m), f"{part}.b2": (d,)}
            more = {f"{part}.gate": (m, d), **({f"{part}.gate_bias": (m,)} if f"{part}.gate" in shapes else {})}
            wanted |= {name: shape for name, shape in more.items() if name in shapes}
        need(model.options["norm"] != "post" or not model.choices.get(f"layers.{l}.parallel"), f"{what}.layers.{l} is parallel.")
        if model.options["norm"] != "none":
            norms += [f"layers.{l}.attention_norm"] * (count > 0) + [f"{part}_norm"] * has_feed_forward(model, l)
            norms += [f"{p}_norm" for p in (f"layers.{l}.attention", part) if f"{p}_norm.gain" in shapes]
    for norm in dict.fromkeys(norms):
        wanted |= {f"{norm}.gain": (d,), f"{norm}.bias": (d,), f"{norm}.epsilon": ()}
    odd = sorted(shapes.keys() ^ wanted.keys())
    need(not odd, f"{what}: the arrays {odd[:2]} are missing or unused.")
    wrong = [name for name, shape in wanted.items() if shapes[name] != shape]
    need(not wrong, f"{what}.{wrong[0] if wrong else ''} has a wrong shape.")
    need(rows("position_embedding") > 0, f"{what}.position_embedding has no rows.")
    for norm in norms:
        need(model.arrays[f"{norm}.epsilon"] >= 0, f"{what}.{norm}.epsilon is negative.")


def more_of_a_head(part: str, k: int, v: int, d: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes of what a head may have besides its matrices."""

    def size(name: str, axis: int = 0) -> int:
        return (*shapes.get(f"{part}.{name}", ()), 0, 0)[axis]

    turns = (size("cosine"), size("cosine", 1))
    every = {
        **{"query_bias": (k,), "key_bias": (k,), "value_bias": (v,), "output_bias": (d,), "cosine": turns, "sine": turns},
        **{"distance_scores": (size("distance_scores"),), "distance_keys": (size("distance_keys"), k)},
        "distance_values": (size("distance_values"), v),
    }
    return {f"{part}.{name}": shape for name, shape in every.items()}


def read_array(data: Any, format: Format, what: str) -> Any:
    """Shape, places of the nonzero entries in reading order, their codes: as nested lists of values."""
    data = fields_of(data, what, "shape", "places", "codes")
    shape, places, codes = (is_list(data[name], int, f"{what}.{name}") for name in ("shape", "places", "codes"))
    need(len(shape) <= 2 and all(0 <= n <= 100_000 for n in shape), f"{what} has the shape {shape}.")
    size = prod(shape)
    need(size <= 50_000_000, f"{what} has {size} entries, which are too many.")
    need(len(places) == len(codes) and places == sorted(set(places)), f"{what} has places that are not its codes' places.")
    need(not places or 0 <= places[0] <= places[-1] < size, f"{what} has places outside of its shape.")
    flat: list[Any] = [0] * size
    for place, code in zip(places, codes, strict=True):
        need(format.holds(code) and code != 0, f"{what} has the code {code}, which {format.name} does not have.")
        flat[place] = format.units(code)
    if len(shape) == 2:
        return [flat[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
    return flat if shape else flat[0]


def shape_of(array: Any) -> tuple[int, ...]:
    return (len(array), *(shape_of(array[0]) if array else ())) if isinstance(array, list) else ()


def entry_of(array: Any, index: list[int]) -> Any:
    for i in index:
        array = array[i]
    return array


def first_with(models: dict[str, Model], part: Any) -> Model | None:
    return next((model for model in models.values() if isinstance(part, str) and part in model.arrays), None)


def has_entry(model: Model, part: Any, index: Any) -> bool:
    if not isinstance(part, str) or part not in model.arrays or not isinstance(index, list):
        return False
    shape = shape_of(model.arrays[part])
    return len(index) == len(shape) and all(type(i) is int and 0 <= i < n for i, n in zip(index, shape, strict=True))
