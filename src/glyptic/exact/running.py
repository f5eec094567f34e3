"""Running a transformer: one input or many, in either engine, with traces and chain of thought.

    engine="fast"        compiled kernels; refused, with the reason, for a format that is not proved exact there
    engine="reference"   fractions
    engine="auto"        fast where it may, else reference: the results are the same

Names of traced parts are in `stages`; patterns may have wildcards. Layers, heads and positions count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import islice
from math import ceil
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.arguments import checked, is_list, refused
from glyptic.cores import cores, in_order, stop_if_unwanted
from glyptic.errors import InputError, ModelError
from glyptic.exact.answers import TIED, UNDEFINED, as_tokens, decide, named
from glyptic.exact.forward import Prepared, embed, forward, prepare
from glyptic.exact.kept import State, Together
from glyptic.exact.stages import UNWATCHED, Observer, Watch, matching, patterns_of
from glyptic.exact.transformer import PREPARED, Input, Progress, Trace, Transformer
from glyptic.exact.undefined import Undefined
from glyptic.numbers import Codes, check_codes, decode
from glyptic.numbers.formats import Exact
from glyptic.numbers.hosts import Engine, arithmetic_for, engine_for
from glyptic.showing import Showing

if TYPE_CHECKING:
    from glyptic.exact.numbering import OfOneLength

_BLOCK_SCORES = 1 << 22  # of a head and an input that are there at once: longer inputs go in pieces
_CHUNK_BYTES = 3 << 20  # of the largest array in a chunk of the batch: less is less work a call, more outgrows the caches,
_LANES, _WIDE_BYTES = 32, 1 << 23  # unless so few inputs went through at once that no vector of the machine were full
_STREAMED, _STREAMED_BYTES = 1 << 14, 1 << 27  # inputs of a batch in a stream, and what their traces may take
_SMALLEST_SHARE = 8  # a chunk is cut so far, and no further, that all workers get some


@dataclass(frozen=True)
class Run(Showing):
    """One run: the tokens read and written, the answer, the logits, and what was traced."""

    transformer: Transformer
    tokens: tuple[str, ...]  # the input, then all answers but the last
    chain: tuple[str, ...]  # the answers, one a step
    logits: tuple[Fraction, ...]  # of the last step
    probabilities: tuple[Fraction, ...]  # after softmax, where the answer policy takes it
    trace: dict[str, np.ndarray] = field(default_factory=dict, repr=False)  # name -> fractions

    @property
    def answer(self) -> str:
        """The last step's answer; TIE where two are largest."""
        return self.chain[-1]

    def __str__(self) -> str:
        """The run as tables: the answer and its logits, and what was traced."""
        from glyptic.exact.report import show_run

        return show_run(self)

    @property
    def residual(self) -> dict[str, list[dict[str, Fraction]]]:
        """Traced residual streams by name, position, coordinate: run.residual["layer.0.after_attention"][-1]["flag"]."""
        names = self.transformer.coordinates
        return {
            name: [dict(zip(names, column, strict=True)) for column in array.T]
            for name, array in self.trace.items()
            if name in ("embedding", "embedding_norm", "final_norm") or ".after_" in name
        }


@dataclass(frozen=True)
class Batch:
    """Many runs: the number of each answer (TIED, UNDEFINED), the logits' codes, and why the undefined ones are."""

    transformer: Transformer
    numbers: np.ndarray  # (batch,)
    logits: Codes  # (batch, answers); zeros where undefined
    failures: dict[int, Undefined]  # by place in the batch
    chains: np.ndarray  # (batch, steps) of numbers
    trace: dict[str, list[np.ndarray]] = field(default_factory=dict, repr=False)  # name -> codes of each input

    @property
    def answers(self) -> tuple[str, ...]:
        """Answers by name; TIE, or UNDEFINED for a run that met 0/0."""
        return named(self.transformer, self.numbers.tolist())


def prepared_for(transformer: Transformer, engine: Engine = "auto") -> Prepared:
    """The transformer made ready for an engine; made once, and kept by the transformer itself, so that it goes with it."""
    format, products = transformer.format, transformer.options.products
    engine, kept = engine_for(format, products, engine), vars(transformer).setdefault(PREPARED, {})
    if engine not in kept:
        kept[engine] = prepare(transformer, arithmetic_for(format, products, engine))
    return kept[engine]


def run(
    transformer: Transformer, text: Input, *, steps: int = 1, trace: Trace = False, engine: Engine = "auto"
) -> Run:
    """Run one input for `steps` steps of chain of thought (each appends the answer), tracing what the patterns name.

    A run that meets 0/0 raises `ZeroAttention`, `ZeroVariance` or `ZeroOutput`, with the place.
    """
    from glyptic.exact.numbering import by_number

    _check_transformer(transformer)
    tokens, steps = transformer.tokens(text), _whole(steps)
    patterns = patterns_of(transformer, trace)
    prepared = prepared_for(transformer, engine)
    done = run_chunk(prepared, by_number(transformer, [tokens]), steps, patterns)
    if done.failures:
        raise done.failures[0]
    chain = named(transformer, done.chains[0].tolist())
    traced = {name: _fractions(array[..., 0], transformer) for name, array in done.trace.items()}
    logits = _fractions(done.logits[0], transformer)
    probabilities = _fractions(done.probabilities[0], transformer) if done.probabilities is not None else ()
    return Run(transformer, tokens + chain[:-1], chain, tuple(logits), tuple(probabilities), traced)


def run_batch(
    transformer: Transformer,
    texts: Iterable[Input],
    *,
    steps: int = 1,
    trace: Trace = (),
    engine: Engine = "auto",
    progress: Progress = None,
    workers: int | None = None,
) -> Batch:
    """Run many inputs, of any lengths. One that meets 0/0 does not stop the others: it is in `failures`.

    Work goes in chunks of one length and bounded memory, by as many threads as there are `workers` (without a number, as many as
    `glyptic.cores` says; fractions are run by one): what comes out is the same with any number. `progress` is called with the
    number of inputs that each chunk finished.
    """
    from glyptic.exact.numbering import numbered

    _check_transformer(transformer)
    workers = _workers(workers)
    groups = numbered(transformer, _inputs(texts))
    patterns = patterns_of(transformer, trace)
    steps = _whole(steps)
    if groups:  # before there is room for the answers of so many
        _check_steps(transformer, max(len(group.tokens) for group in groups), steps)
    if progress is not None and not callable(progress):
        raise refused("progress", progress, "a function of the number of inputs that were done")
    prepared = prepared_for(transformer, engine)
    if engine_for(transformer.format, transformer.options.products, engine) == "reference":
        workers = 1

    def run_piece(piece: OfOneLength) -> Chunk:
        return run_chunk(prepared, piece.tokens.astype(np.intp), steps, patterns)

    batch = sum(len(group.places) for group in groups)
    chains = np.full((batch, steps), UNDEFINED)
    logits = np.zeros((batch, len(transformer.answers)), object if isinstance(transformer.format, Exact) else np.int64)
    failures: dict[int, Undefined] = {}
    traced: dict[str, list[Any]] = {}
    pieces = [piece for group in groups for piece in _pieces(transformer, group, steps, workers)]
    for piece, done in zip(pieces, in_order(run_piece, pieces, min(workers, max(1, len(pieces)))), strict=True):
        chosen = piece.places.tolist()
        chains[chosen], logits[chosen] = done.chains, done.logits
        failures.update({chosen[i]: error for i, error in done.failures.items()})
        for name, array in done.trace.items():
            slots = traced.setdefault(name, [None] * batch)
            for i, place in enumerate(chosen):
                slots[place] = array[..., i]
        if progress is not None:
            progress(len(chosen))
    return Batch(transformer, chains[:, -1], logits, dict(sorted(failures.items())), chains, traced)


def run_stream(
    transformer: Transformer,
    texts: Iterable[Input],
    *,
    size: int | None = None,
    steps: int = 1,
    trace: Trace = (),
    engine: Engine = "auto",
    workers: int | None = None,
) -> Iterator[Batch]:
    """Run any number of inputs, some at a time, each time as `run_batch` does: memory holds a batch or two of them.

    Inputs are taken as they are needed, from a list, a file or whatever can be gone through: `size` of them for a batch, or,
    where it is not said, 16,384, or fewer whose traces take 128 MiB.

    >>> from itertools import product
    >>> from glyptic import programs
    >>> T = programs.open("parity:10", "fixed:8")
    >>> sum(batch.answers.count("YES") for batch in run_stream(T, map("".join, product("01", repeat=10)), size=256))
    512
    """
    _check_transformer(transformer)
    rest, most = iter(_inputs(texts)), _STREAMED if size is None else _count("size", size, 10**9)
    workers = None if workers is None else _workers(workers)
    wanted = matching(transformer, patterns_of(transformer, trace))
    bound = _STREAMED_BYTES if size is None and wanted else None
    longer = _whole(steps) - 1
    bytes_of = cache(lambda length: traced_bytes(transformer, wanted, length + longer))

    def taken() -> list[Input]:
        """The next inputs: one in any case."""
        some: list[Input] = []
        held = 0
        for text in islice(rest, most):
            some.append(text)
            if bound is not None:
                held += bytes_of(len(transformer.tokens(text)))
                if held >= bound:
                    break
        return some

    def batches() -> Iterator[Batch]:
        while some := taken():
            yield run_batch(transformer, some, steps=steps, trace=trace, engine=engine, workers=workers)

    return batches()


def traced_bytes(transformer: Transformer, wanted: Iterable[str], length: int) -> int:
    """What these stages of a run of a length take, as codes."""
    total = 0
    for stage in wanted:
        part, of = stage.rpartition(".")[2], stage.split(".")
        layer = transformer.layers[int(of[1])] if of[0] == "layer" else None
        if layer is not None and "head" in of:
            head = layer.heads[int(of[3])]
            widths = {"query": len(head.query), "key": len(head.key), "value": len(head.value), "mixed": len(head.value)}
            total += length * (length if part in ("scores", "weights") else widths.get(part, transformer.width))
        elif part == "hidden" and layer is not None and layer.feed_forward is not None:
            total += length * len(layer.feed_forward.w1)
        else:
            total += len(transformer.answers) if part in ("logits", "probabilities") else length * transformer.width
    return 8 * total


def _pieces(transformer: Transformer, group: OfOneLength, steps: int, workers: int) -> Iterator[OfOneLength]:
    """Inputs of one length in chunks, so that each worker has some."""
    length, count = group.tokens.shape
    size = chunk_size(transformer, length, steps)
    if workers > 1:
        size = min(size, max(ceil(size / _SMALLEST_SHARE), ceil(count / workers)))
    return group.cut(size)


def chunk_size(transformer: Transformer, length: int, steps: int = 1) -> int:
    """How many inputs of a length go through at once: no array outgrows three megabytes, or eight where inputs are long.

    The input goes through whole; in a chain of thought then one position a step, beside what is kept of all before it. Under a
    full mask every step begins again.
    """
    kept = [width for layer in transformer.layers for head in layer.heads for width in (len(head.query), len(head.value))]
    hidden = [len(layer.feed_forward.w1) for layer in transformer.layers if layer.feed_forward]
    longest = length + steps - 1
    if transformer.options.mask == "full":
        length = longest
    each = 4 * max(max([transformer.width, length, *kept, *hidden]) * length, max([1, *kept]) * longest)
    return max(1, _CHUNK_BYTES // each, min(_LANES, _WIDE_BYTES // each))


@checked
def run_residual(
    transformer: Transformer,
    residual: np.ndarray,
    *,
    first: int = 0,
    last: int | None = None,
    observer: Observer = UNWATCHED,
    engine: Engine = "auto",
) -> Codes:
    """Codes (d, positions, batch) through the layers `first` … `last` − 1: what they become; an observer is shown the way.

    The final norm comes after the last layer of all. A member of the batch that meets 0/0 does not stop the others: `Watch` says
    which do.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> T = random_transformer("fixed:4", sizes=Sizes(layers=2, heads=1, width=3))
    >>> watch = Watch(["layer.1.head.0.weights"])
    >>> after = run_residual(T, np.zeros((3, 4, 10), int), first=1, observer=watch)
    >>> after.shape, watch.traced["layer.1.head.0.weights"].shape, watch.failures()
    ((3, 4, 10), (4, 4, 10), {})
    """
    if residual.ndim != 3 or len(residual) != transformer.width or residual.dtype != np.int64:
        shape = f"{residual.dtype} of shape {residual.shape}"
        raise ModelError(f"residual is {shape}; it must be int64 codes of shape ({transformer.width}, positions, batch).")
    if isinstance(observer, Watch):
        observer.check_stages(transformer)
    if not 0 <= first <= (len(transformer.layers) if last is None else last) <= len(transformer.layers):
        raise ModelError(f"there are no layers {first} to {last}; the transformer has {len(transformer.layers)}, from 0.")
    check_codes(residual, transformer.format, "residual")
    prepared = prepared_for(transformer, engine).part(first, last)
    return prepared.arithmetic.codes(forward(prepared, prepared.arithmetic.values(residual), observer=observer)[0])


@dataclass(frozen=True)
class Chunk:
    """What a chunk of runs, all of one length, has come to."""

    chains: np.ndarray
    logits: np.ndarray
    probabilities: np.ndarray | None
    failures: dict[int, Undefined]
    trace: dict[str, np.ndarray]


def run_chunk(prepared: Prepared, tokens: np.ndarray, steps: int = 1, patterns: Sequence[str] = ()) -> Chunk:
    """Run inputs of one length, given as token numbers (n, batch), for some steps: what `run` and `run_batch` are made of."""
    transformer, batch = prepared.transformer, tokens.shape[1]
    _check_steps(transformer, tokens.shape[0], steps)
    failures: dict[int, Undefined] = {}
    traced: dict[str, np.ndarray] = {}
    wanted, codes = matching(transformer, patterns), prepared.arithmetic.codes

    def keep_watched(watch: Watch, first: int) -> None:
        """What was watched from a position on."""
        failures.update({k: error for k, error in watch.failures(first).items() if k not in failures and not tied[k]})
        for stage, array in watch.traced.items():
            traced[stage] = extended(stage, traced.get(stage), array, first)

    keep = transformer.options.mask != "full"
    chains, tied = np.full((batch, steps), UNDEFINED), np.zeros(batch, bool)
    state: State | Together = State()
    for step in range(steps):
        for new in _blocks(tokens[state.length :], len(tokens), keep):
            stop_if_unwanted()
            first, watch = state.length, Watch(wanted, codes)
            last = step + 1 == steps and first + len(new) == len(tokens)
            residual, state = forward(prepared, embed(prepared, new, first, watch), state, watch, last=last)
            keep_watched(watch, first)
        state, watch = state if keep else State(), Watch(wanted, codes)
        logits, probabilities, numbers = decide(prepared, residual[:, -1:, :], tokens.shape[0] - 1, watch)
        keep_watched(watch, first)
        chains[:, step] = numbers = np.where(tied, TIED, numbers)
        tied = numbers == TIED  # there is no next token: such a chain stays tied, and what follows is not its fault
        if step + 1 < steps:
            tokens = np.concatenate([tokens, as_tokens(transformer, numbers)[None]])
        if not keep:
            traced = traced if step + 1 == steps else {}
    chains[list(failures)] = UNDEFINED
    return Chunk(chains, logits, probabilities, failures, traced)


def _blocks(new: np.ndarray, length: int, keep: bool) -> list[np.ndarray]:
    """New tokens (n, batch) in pieces, so that the scores of long inputs, piece by all keys, are never there whole.

    What a piece computes is what the whole would: later positions take earlier ones from the state. Under a full mask, where
    nothing can be kept, there is one piece.
    """
    size = max(1, _BLOCK_SCORES // length) if keep else len(new)
    return [new[first : first + size] for first in range(0, len(new), size)]


def extended(stage: str, before: np.ndarray | None, new: np.ndarray, first: int) -> np.ndarray:
    """A trace grows with the positions that were read from `first` on; scores and weights grow along both their axes."""
    if before is None or first == 0:
        return new
    if stage.endswith((".key", ".value")):
        return new  # these come whole, earlier positions included
    if stage.endswith((".scores", ".weights")):
        padded = np.zeros((before.shape[0], new.shape[1], before.shape[2]), before.dtype)
        padded[:, : before.shape[1]] = before
        return np.concatenate([padded, new], axis=0)
    return np.concatenate([before, new], axis=1)


def _check_transformer(given: Any) -> None:
    if not isinstance(given, Transformer):
        raise refused("transformer", given, "a Transformer")


def _inputs(texts: Any) -> Iterable[Any]:
    """Several inputs; one text alone would be read as many of one character."""
    if not is_list(texts):
        raise refused("texts", texts, "a list of inputs; for one there is run")
    return texts  # type: ignore[no-any-return]


def _whole(steps: Any) -> int:
    if not isinstance(steps, Integral) or isinstance(steps, bool):
        raise refused("steps", steps, "a whole number of at least 1")
    if steps < 1:
        raise InputError(f"steps is {steps}; a run takes at least one.")
    return int(steps)


def _workers(workers: Any) -> int:
    return cores() if workers is None else _count("workers", workers, 1024)


def _count(name: str, given: Any, most: int) -> int:
    if not isinstance(given, Integral) or isinstance(given, bool) or not 1 <= int(given) <= most:
        raise refused(name, given, f"a whole number from 1 to {most:,}")
    return int(given)


def _check_steps(transformer: Transformer, length: int, steps: int) -> None:
    steps = _whole(steps)
    if length + steps - 1 > transformer.max_length:
        most = transformer.max_length - length + 1
        raise InputError(
            f"{length} tokens and {steps} steps need more positions than {transformer.max_length}; at most {most} steps."
        )
    missing = [answer for answer in transformer.answers if answer not in transformer.vocabulary]
    if steps > 1 and missing:
        raise InputError(f"chain of thought reads answers as tokens, and {missing[0]!r} is not in the vocabulary.")


def _fractions(codes: np.ndarray, transformer: Transformer) -> np.ndarray:
    """Exact fractions of what an arithmetic gave as codes (in `exact` they are fractions already)."""
    return codes if codes.dtype == object else decode(codes, transformer.format)
