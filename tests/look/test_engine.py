"""The engine of pages is the exact engine: every cell of many runs, every operation of small formats, exp near ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.look.chromium import needs_chromium
from tests.look.engine_in_page import EngineInPage, difference, expected

from glyptic import programs
from glyptic.errors import FormatError
from glyptic.exact import FeedForward, Layer, Norm, Options, Sizes, Transformer, random_transformer
from glyptic.exact.parts import newer_parts, parts
from glyptic.exact.report import show_number
from glyptic.numbers import Reference, decode, parse_format
from glyptic.numbers.exponential import exp_rounded

pytestmark = needs_chromium

FORMATS = (
    *(
        "fixed:2",
        "fixed:4",
        "fixed:8",
        "fixed:8/even",
        "fixed:14",
        "fixed:17/even",
        "fixed:24",
        "float:3,4",
        "float:5,10",
    ),
    *(
        "float:5,10/even",
        "float:8,12",
        "float:4,20/even",
        "q:3,4",
        "q:4,6/even",
        "q:8,0",
        "ieee:4,3,normal",
        "fp32",
        "fp16",
    ),
    *("fp16/zero", "bf16", "bf16/zero", "fp8_e5m2", "fp8_e4m3", "fp6_e3m2/zero", "fp4_e2m1"),
)
BUILT_IN = {
    "parity:8": "01101011",
    "majority:8": "0110101",
    "contains:101,8": "0010110",
    "brackets:8,2": "(())()",
    "palindromes:6": "011110",
    "modular:3,0,8": "0110111",
    "first-equals-last:8": "0110100",
    "regex:(01)*,8": "010101",
    "tomita:4,8": "0110010",
}


@pytest.fixture(scope="module")
def engine(browser: Any) -> EngineInPage:
    return EngineInPage(browser)


def compare(engine: EngineInPage, transformer: Transformer, text: Any, steps: int = 1) -> int:
    """How many cells a run has, all of them equal in the page and in Python."""
    found = engine.call("(job) => shown(job)", {"model": engine.load(transformer), "text": text, "steps": steps})
    taken = len(found["chain"])  # fewer where 0/0 ended the run; Python goes on for the rest of its batch
    assert taken == steps or found["undefined"] is not None
    wanted = expected(transformer, text, taken)
    wrong = difference(found, wanted)
    assert wrong is None, f"{transformer} {transformer.options} {text} {steps}: {wrong}"
    return sum(rows * columns for rows, columns, _ in found["stages"].values())


def all_options(rng: np.random.Generator) -> Options:
    def one_of(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    return Options(
        products=one_of("rounded", "fused", "unrounded"),
        attention=one_of("softmax", "max-subtracted", "leftmost", "rightmost", "average"),
        scale=one_of(True, False),
        mask=one_of("causal", "strict", "full"),
        norm=one_of("none", "pre", "post"),
        answer=one_of("softmax", "logits"),
        ties=one_of("explicit", "first"),
    )


def random_case(format: str, seed: int) -> tuple[Transformer, str, int]:
    rng = np.random.default_rng(seed)
    chained = bool(rng.integers(2))
    sizes = Sizes(
        heads=int(rng.integers(0, 3)),
        hidden=int(rng.choice([0, 5, 8])),
        key_width=int(rng.integers(1, 4)),
        max_length=8,
        answers=("0", "1") if chained else ("NO", "YES", "OTHER"),
        density=float(rng.choice([0.3, 0.7])),
    )
    text = "".join(rng.choice(["0", "1"], int(rng.integers(1, 6))))
    return random_transformer(format, seed, sizes, all_options(rng)), text, 1 + 2 * chained


def test_every_cell_is_the_exact_engines(engine: EngineInPage) -> None:
    cells = 0
    for number, format in enumerate(FORMATS):
        for seed in range(7):
            cells += compare(engine, *random_case(format, 100 * number + seed))
    for name, text in BUILT_IN.items():
        for format in ("fixed:8", "fixed:8/even"):
            transformer = programs.open(name).in_format(format)
            cells += compare(engine, transformer, text)
    cells += compare(engine, programs.open("parity:16"), "0110101101101011")
    assert cells >= 100_000


def test_runs_that_meet_0_over_0_end_there(engine: EngineInPage) -> None:
    """Attention, output, and norms, with the sentences that Python has."""
    kinds = set()
    for seed in range(40):
        options = Options(mask=("causal", "full")[seed % 2], ties="first")
        sizes = Sizes(answers=("0", "1"), density=1.0)
        transformer = random_transformer("fixed:2", seed, sizes, options)
        kinds.add(type(expected(transformer, "0110", 2).failure).__name__)
        compare(engine, transformer, "0110", 2)
    norm = Norm.of("fixed:4", [1, 1], [0, 0], 0)
    nothing = FeedForward.of("fixed:4", [[0, 0]], [0], [[0], [0]], [0, 0])
    for options, layers, final in (
        (Options(norm="pre"), [Layer((), nothing, None, norm)], None),
        (Options(), [], norm),
    ):
        same = Transformer.of(
            *("fixed:4", "ab", ["x", "y"], [[1, 1], [1, 0]], [[1, 0], [0, 1]], ["NO", "YES"]),
            layers=layers,
            options=options,
            final_norm=final,
        )
        kinds.add(f"{type(expected(same, 'ba').failure).__name__} {final is not None}")
        compare(engine, same, "ba")
    assert kinds >= {"ZeroAttention", "ZeroOutput", "ZeroVariance True", "ZeroVariance False"}


@pytest.mark.parametrize(
    "name", ["fixed:1", "fixed:2", "q:1,2", "fp4_e2m1", "fp6_e3m2", "fp6_e2m3", "fp8_e4m3", "fp8_e5m2"]
)
@pytest.mark.parametrize("ties", ["zero", "even"])
def test_operations_by_exhaustion(engine: EngineInPage, name: str, ties: Any) -> None:
    format = parse_format(f"{name}/{ties}")
    reference, values = Reference(format), list(format.values())  # type: ignore[union-attr]
    # All pairs of small formats; of the larger every eighth beside the ends, with every value.
    rights = [*values[:4], *values[4:-4:8], *values[-4:]] if len(values) > 64 else values
    found = engine.call(
        """([name, codes]) => {
          const format = Engine.parseFormat(name), use = new Engine.Arithmetic(format), out = [];
          const all = [];
          for (let code = format.minCode; code <= format.maxCode; code++) all.push(Engine.value(format, code));
          const code = (x) => Engine.code(format, x);
          for (const a of all) for (const b of codes.map((c) => Engine.value(format, c)))
            out.push([use.add(a, b), use.subtract(a, b), use.multiply(a, b), b === 0 ? 0 : use.divide(a, b)].map(code));
          const roots = all.map((a) => a < 0 ? 0 : code(use.root(a))), shown = all.map((a) => Engine.show(format, a));
          return [out, all.map((a) => code(use.exp(a))), roots, all.map(code), shown];
        }""",
        [str(format), [format.code(b) for b in rights]],
    )
    code = format.code
    wanted = [
        [
            code(reference.scalar_add(a, b)),
            code(reference.scalar_subtract(a, b)),
            code(reference.scalar_multiply(a, b)),
            code(reference.scalar_divide(a, b)) if b else 0,
        ]
        for a, b in product(values, rights)
    ]
    assert found[0] == wanted
    assert found[1] == [code(reference.scalar_exp(a)) for a in values]
    assert found[2] == [code(reference.scalar_root(a)) if a >= 0 else 0 for a in values]
    assert found[3] == [code(a) for a in values]
    assert found[4] == [show_number(a, format) for a in values]


@pytest.mark.parametrize(
    "name",
    ["fixed:8", "fixed:8/even", "fp16", "float:5,10", "fixed:25", "fixed:25/even", "float:6,22", "float:3,25", "float:3,25/even"],
)
def test_operations_at_random(engine: EngineInPage, name: str) -> None:
    """Codes from everywhere; and those near each other, where sums cancel and quotients are near 1; fused sums too."""
    format = parse_format(name)
    rng = np.random.default_rng(7)
    codes = rng.integers(-format.max_code, format.max_code + 1, (400, 4)).tolist()
    codes += [
        [c, int(np.clip(c + d, 1, format.max_code)), d, 1]
        for c, d, *_ in (abs(rng.integers(1, 2000, (200, 2)))).tolist()
    ]
    one = format.code(Fraction(1))
    codes += (one + rng.integers(-300, 300, (400, 4))).tolist()
    found = engine.call(
        """([name, rows]) => {
          const format = Engine.parseFormat(name), use = new Engine.Arithmetic(format), code = (x) => Engine.code(format, x);
          return rows.map((row) => {
            const [a, b, c, d] = row.map((x) => Engine.value(format, x));
            const plain = [use.add(a, b), use.subtract(a, b), use.multiply(a, b), b ? use.divide(a, b) : 0];
            return [...plain, use.root(Math.abs(a)), use.fused(c, a, b), use.pair(a, b, c, d)].map(code);
          });
        }""",
        [name, codes],
    )
    use, value = Reference(format), format.value
    for row, got in zip(codes, found, strict=True):
        a, b, c, d = map(value, row)
        both = use.format.round(a * b + c * d)
        quotient = use.scalar_divide(a, b) if b else Fraction(0)
        roots = (use.scalar_root(abs(a)), use.scalar_fused(c, a, b), both)
        exact = (use.scalar_add(a, b), use.scalar_subtract(a, b), use.scalar_multiply(a, b), quotient, *roots)
        assert got == [format.code(x) for x in exact], row


@pytest.mark.parametrize(
    "name", ["fixed:8", "fixed:8/even", "fp16", "float:5,10", "fixed:20", "float:4,24", "float:6,18", "fp32"]
)
def test_exp(engine: EngineInPage, name: str) -> None:
    """At random, and where exp x comes nearest to a tie: near the logarithms of the middles between values."""
    format = parse_format(name)
    rng = np.random.default_rng(3)
    values = {format.round(Fraction(float(x))) for x in rng.normal(0, 4, 300)}
    for code in rng.integers(1, format.max_code, 600).tolist():
        low, high = float(format.value(code)), float(format.value(code + 1))
        values.add(format.round(Fraction(float(np.log((low + high) / 2)))))
    values |= {format.value(code) for code in (-2, -1, 0, 1, 2, format.min_code, format.max_code)}
    values |= {
        format.round(Fraction(sign, 1 << format.precision)) for sign in (1, -1)
    }  # exp is 1 and half a unit, and a trace more
    codes = [format.code(x) for x in values]
    found = engine.call(
        """([name, codes]) => {
          const format = Engine.parseFormat(name);
          return codes.map((code) => {
            const x = Engine.value(format, code);
            const slow = x === 0 || Math.abs(x) > 400 ? null : Engine.code(format, Engine.round(format, Engine.oddExp(x)));
            return [Engine.code(format, Engine.exp(format, x)), slow];
          });
        }""",
        [name, codes],
    )
    wanted = [format.code(exp_rounded(x, format)) for x in values]
    assert [fast for fast, _ in found] == wanted
    assert all(slow in (None, code) for (_, slow), code in zip(found, wanted, strict=True))


def test_derivations_end_in_their_cells(engine: EngineInPage) -> None:
    """For every cell the last result is the cell, and what its steps rounded and saturated is what its flags say."""
    cells = 0
    jobs = [(programs.open("parity:8"), "0110", 1)]
    jobs += [random_case(format, seed) for seed, format in enumerate((*FORMATS, *FORMATS))]
    for transformer, text, steps in jobs:
        count, wrong = engine.call(
            "(job) => derived(job)", {"model": engine.load(transformer), "text": text, "steps": steps}
        )
        assert wrong == [], f"{transformer} {transformer.options} {text} {steps}"
        cells += count
    assert cells > 10_000


def test_a_derivation_reads_as_arithmetic(engine: EngineInPage) -> None:
    transformer = Transformer.of(
        *("fixed:2", "ab", ["x", "y"], [["3/2", "5/4"], [0, 1]], [["5/4", "5/4"], [0, 3]], ["NO", "YES"])
    )
    steps = engine.call(
        """(number) => {
          const model = models[number], run = Engine.run(model, Engine.tokens(model, "a"));
          return ["logits", "probabilities"].map((stage) => Engine.derive(model, run, stage, 0, 0));
        }""",
        engine.load(transformer),
    )
    told = [(step["op"], step.get("exact"), step["result"], step["rounded"]) for step in steps[0]]
    assert told == [
        ("product", "15/8", 1.75, True),
        ("product", "25/16", 1.5, True),
        ("sum", "13/4", 3.25, False),
    ]
    assert steps[0][0]["left"]["name"] == "θ[NO, x]" and steps[0][0]["right"]["name"] == "h[x, 0]"
    assert steps[1][0]["exact"] == "exp(13/4)" and steps[1][0]["saturated"] and steps[1][-1]["exact"] == "1"


def test_formats_are_pythons(engine: EngineInPage) -> None:
    names = (
        *FORMATS,
        "fixed:3/zero",
        "float:0,5",
        "q:0,3",
        "ieee:3,2",
        " fp16 ",
        "ieee:5,2/zero",
        "fp8_e4m3/even",
        "fixed:25",
    )
    found = engine.call(
        """(names) => names.map((name) => {
          const f = Engine.parseFormat(name);
          return [f.name, f.ties, f.precision, f.leastExponent, f.greatestExponent, f.top, f.subnormals, f.twosComplement,
            f.isFixed,
            f.maxCode, f.minCode, ...[f.max, f.min, f.least].map(Engine.fractionText), Engine.refusal(f)];
        })""",
        names,
    )
    for name, got in zip(names, found, strict=True):
        f = parse_format(name)
        sizes = [str(f), f.ties, f.precision, f.least_exponent, f.greatest_exponent, f.top, f.subnormals]  # type: ignore[union-attr]
        ends = [f.max_code, f.min_code, str(f.max), str(f.min), str(f.least), None]
        assert got == [*sizes, f.twos_complement, f.is_fixed, *ends]


def test_what_is_no_format_is_refused_in_a_sentence(engine: EngineInPage) -> None:
    names = [
        "fixed",
        "fixed:0",
        "fixed:1,2",
        "float:17,2",
        "q:0,0",
        "ieee:1,1",
        "fixed:8/up",
        "fp17",
        "",
        "constructor",
        "ieee:4,3,x",
    ]
    said = "(name) => { try { return Engine.parseFormat(name).name; } catch (error) { return error; } }"
    for name in names:
        with pytest.raises(FormatError):
            parse_format(name)
        message = str(engine.call(f"(name) => String(({said})(name))", name))
        assert message.startswith("Error: ") and message.endswith("."), message
    assert [
        engine.call("(name) => Engine.refusal(Engine.parseFormat(name)).key", name)
        for name in ("exact", "exact:3", "fixed:26", "ieee:11,20", "float:10,4", "float:9,24")
    ] == [
        *["engine.refused_exact"] * 2,
        "engine.refused_precision",
        *["engine.refused_small"] * 2,
        "engine.refused_codes",
    ]


def test_parts_that_the_page_does_not_compute_are_refused(engine: EngineInPage) -> None:
    for more in ({"activation": "silu"}, {"biases": True}, {"turned": 1}, {"distances": 1}, {"embedding_norm": True}):
        transformer = random_transformer("fixed:6", 1, Sizes(layers=1, **more))
        said = "(n) => { try { Engine.run(models[n], [0]); return ''; } catch (error) { return String(error); } }"
        message = str(engine.call(said, engine.load(transformer)))
        assert f"{newer_parts(transformer)[0]} is a part that this page does not compute" in message, message


@pytest.mark.parametrize("old", ["fixed:8", "q:3,4", "fp16", "fixed:31", "float:10,20", "exact:8", "q:20,43"])
def test_in_format(engine: EngineInPage, old: str) -> None:
    transformer = random_transformer(old, 5, Sizes(layers=1, density=1.0), Options(norm="pre", attention="leftmost"))
    number = engine.load(transformer)
    for new in ("fixed:2", "fixed:12/even", "q:2,2", "fp8_e4m3", "fp4_e2m1/zero", "float:6,22"):
        found = engine.call(
            """([number, name]) => {
              const model = Engine.inFormat(models[number], name);
              const code = (x) => Engine.code(model.format, x);
              return [model.format.name, Engine.parts(model).map(([path, part]) => [path, Array.from(part.values, code)])];
            }""",
            [number, new],
        )
        wanted = transformer.in_format(new)
        assert found[0] == str(wanted.format)
        assert dict(found[1]) == {name: codes.ravel().tolist() for name, codes, _ in parts(wanted)}


def test_a_weight_is_changed_and_the_rest_is_shared(engine: EngineInPage) -> None:
    transformer = random_transformer("fixed:4", 3, options=Options(norm="pre"))
    texts = ["1/2", "-B", "∞", "−0.25", "3", "1e1", "-7/16", "B"]
    found = engine.call(
        """([number, texts]) => texts.map((text) => {
          const model = models[number], made = Engine.withWeight(model, "layers.0.heads.1.query", 2, 1, text);
          const [old, changed] = [model, made].map((each) => new Map(Engine.parts(each)));
          const other = [...old].filter(([path, part]) => changed.get(path) !== part).map(([path]) => path);
          return [Engine.show(made.format, made.layers[0].heads[1].query.values[2 * 6 + 1]), other];
        })""",
        [engine.load(transformer), texts],
    )
    assert found == [[show, ["layers.0.heads.1.query"]] for show in ("1/2", "-∞", "∞", "-1/4", "3", "10", "-7/16", "∞")]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            'Engine.withWeight(model, "output", 0, 0, "1/3")',
            "1/3 is not a value of fixed:4; its neighbours there are 5/16 and 3/8.",
        ),
        (
            'Engine.withWeight(model, "output", 0, 0, "99")',
            "99 is not a value of fixed:4; its neighbours there are ∞ and –.",
        ),
        ('Engine.withWeight(model, "output", 0, 0, "-1e9")', "its neighbours there are – and -∞."),
        ('Engine.withWeight(model, "output", 0, 0, "one")', "“one” is not a number"),
        ('Engine.withWeight(model, "output", 9, 0, "1")', "there is no weight output in row 9, column 0"),
        ('Engine.withWeight(model, "final_norm.epsilon", 0, 0, "-1")', "ε would be -1"),
        ('Engine.withOptions(model, {mask: "none"})', "option mask: none is not one of causal, strict, full."),
        ('Engine.withOptions(model, {norm: "none"})', "the norm cannot be “none” here"),
        ('Engine.tokens(model, "")', "the input is empty"),
        ('Engine.tokens(model, "0a")', "unknown token “a” at position 1; the vocabulary is 0 1."),
        ('Engine.tokens(model, "000000000")', "the input has 9 tokens; this transformer reads at most 8."),
        ("Engine.run(model, [0], 2)", "“NO” is not in the vocabulary"),
        ("Engine.run(model, [0], 9)", "at most 8 steps"),
        ("Engine.run(model, [0], 0)", "a run takes at least one"),
        ('Engine.inFormat(model, "fixed:60")', "fixed:60 has 120 bits of precision"),
        ('Engine.inFormat(model, "exact")', "rationals have no bound"),
        ("Engine.value(model.format, 999)", "fixed:4 has codes from -255 to 255; 999 is none of them."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(engine: EngineInPage, call: str, words: str) -> None:
    number = engine.load(random_transformer("fixed:4", 3, options=Options(norm="pre")))
    message = engine.call(
        f"(number) => {{ const model = models[number]; try {{ {call}; return ''; }} catch (error) {{ return error.message; }} }}",
        number,
    )
    assert words in message and message.endswith("."), message


def test_other_options_are_pythons(engine: EngineInPage) -> None:
    transformer = random_transformer("fixed:6", 9)
    found = engine.call(
        """(number) => {
          const model = Engine.withOptions(models[number], {attention: "average", answer: "logits", mask: "full"});
          const run = Engine.run(model, Engine.tokens(model, "0110"));
          return [models[number].options.attention, run.answer, run.logits.map((x) => Engine.show(model.format, x))];
        }""",
        engine.load(transformer),
    )
    run = transformer.with_options(attention="average", answer="logits", mask="full").run("0110")
    assert found == ["softmax", run.answer, [show_number(x, transformer.format) for x in run.logits]]
    assert decode(np.array([1]), transformer.format)[0] > 0
