"""What the tests of constructions share: formats, all inputs, residuals given directly, and the frame checked by running."""

from __future__ import annotations

import itertools

import numpy as np

from glyptic.exact import Transformer, Watch, run_residual
from glyptic.numbers import NAMED, Fixed, Float, Format, Ieee, Q

_SETS = [
    Fixed(2),
    Fixed(3),
    Fixed(4),
    Float(1, 2),
    Float(2, 2),
    Float(3, 2),
    Float(2, 3),
    Ieee(3, 2),
    NAMED["fp8_e4m3"],
    NAMED["fp8_e5m2"],
    NAMED["fp6_e3m2"],
    NAMED["fp6_e2m3"],
    NAMED["fp4_e2m1"],
]
FORMATS = [format.with_ties(ties) for format in _SETS for ties in ("zero", "even")]  # type: ignore[arg-type]
NORMAL = Ieee(3, 2, subnormals=False)  # no subnormals: another kind of kernel to compile, so only where it matters
_TINY = [
    *(Fixed(s) for s in (1, 2, 3)),
    *(Float(e, s) for e in (1, 2, 3) for s in (1, 2)),
    *(Ieee(e, m, subnormals=subnormals) for e in (2, 3) for m in (1, 2) for subnormals in (True, False)),
    *(Q(m, f) for m in range(4) for f in range(4) if 1 <= m + f <= 4),
    *(NAMED[name] for name in ("fp4_e2m1", "fp6_e2m3", "fp6_e3m2")),
]
TINY = [format.with_ties(ties) for format in _TINY for ties in ("zero", "even")]  # every family, with few bits


def all_texts(longest: int, alphabet: str = "01") -> list[str]:
    """Every input up to a length."""
    return ["".join(text) for n in range(1, longest + 1) for text in itertools.product(alphabet, repeat=n)]


def all_codes(format: Format) -> np.ndarray:
    return np.arange(format.min_code, format.max_code + 1)


def blank(format: Format, names: str, length: int = 1, answers: tuple[str, ...] = ("NO", "YES"), **rest: object) -> Transformer:
    """A transformer without layers whose embeddings are 0: a place to put constructions."""
    d = len(names.split())
    zeros = np.zeros((1, d), int)
    output = np.zeros((len(answers), d), int)
    return Transformer.of(format, "·", names.split(), zeros, output, answers, max_length=length, **rest)  # type: ignore[arg-type]


def through(transformer: Transformer, residual: np.ndarray, engine: str = "auto") -> tuple[np.ndarray, dict]:
    """All layers over residuals given as codes, (old coordinates, positions, batch); flags come from the position embedding.

    Gives the codes after the last layer and what was undefined. New coordinates, wherever they are, start from the embedding.
    """
    watch = Watch()
    return run_residual(transformer, residual, engine=engine, observer=watch), watch.failures()  # type: ignore[arg-type]


def laid_out(before: Transformer, after: Transformer, residual: np.ndarray) -> np.ndarray:
    """Residuals of `before` (d, n, batch), as codes, in the coordinates of `after`."""
    n, batch = residual.shape[1:]
    out = np.broadcast_to(after.position_embedding[:n].T[:, :, None], (after.width, n, batch)).copy()
    for k, name in enumerate(before.coordinates):
        out[after.coordinate(name)] = residual[k]
    return out


def run_added(before: Transformer, after: Transformer, residual: np.ndarray) -> dict[str, np.ndarray]:
    """The construction alone on residuals of `before`, which has no layers: name -> codes (n, batch)."""
    assert not before.layers
    out, undefined = through(after, laid_out(before, after, residual))
    assert not undefined, next(iter(undefined.values()))
    return dict(zip(after.coordinates, out, strict=True))


def check_frame(before: Transformer, after: Transformer, residual: np.ndarray, got: dict[str, np.ndarray]) -> None:
    """The last frame is true: what it says is preserved is, bit for bit, and what it says is 0 is 0, where it says so."""
    old = dict(zip(after.coordinates, laid_out(before, after, residual), strict=True))
    frame = after.history[-1]
    mentioned = {name for t in frame.touches if t.action in ("writes", "clobbers", "preserves") for name in t.coordinates}
    assert set(before.coordinates) <= mentioned
    for touch in frame.touches:
        places = [p for p in range(residual.shape[1]) if touch.covers(p)]
        for name in touch.coordinates:
            if touch.action == "preserves":
                assert (got[name][places] == old[name][places]).all(), (name, touch)
            if touch.action == "writes" and touch.value == "0":
                assert not got[name][places].any(), (name, touch)
    for name in set(frame.new_coordinates) - mentioned:  # flags are kept
        assert (got[name] == old[name]).all(), name

