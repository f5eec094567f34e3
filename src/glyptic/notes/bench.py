"""The bench: a transformer without layers, and data put straight into the residual stream, so that all values are met.

Everything goes through the engine that runs transformers. Streams have the shape (coordinates, positions, batch).
"""

from __future__ import annotations

import numpy as np

from glyptic.exact import Transformer, Undefined
from glyptic.exact.answers import TIE, TIED, UNDEFINED, decide
from glyptic.exact.running import prepared_for, run_residual
from glyptic.exact.stages import Watch
from glyptic.numbers import Codes, Format

ANSWERS = {TIED: TIE, UNDEFINED: "0/0", 0: "NO", 1: "YES"}


def carrier(format: Format, width: int, length: int = 1, name: str = "carrier") -> Transformer:
    """A transformer without layers, NO in the first coordinate and YES in the second: the bench on which layers are tried."""
    names = [f"h{k + 1}" for k in range(width)]
    output = np.eye(2, width)
    return Transformer.of(format, "x", names, np.zeros((1, width)), output, ["NO", "YES"], max_length=length, name=name)


def stream(transformer: Transformer, data: Codes) -> Codes:
    """Data (d, n, batch) in coordinates h1, h2, …; the others as the position embedding has them."""
    d, n, batch = data.shape
    residual = np.repeat(transformer.position_embedding[:n].T[:, :, None], batch, axis=2)
    for k in range(d):
        residual[transformer.coordinate(f"h{k + 1}")] = data[k]
    return residual


def random_data(format: Format, *shape: int, seed: int = 0) -> Codes:
    return np.random.default_rng(seed).integers(format.min_code, format.max_code + 1, shape)


def push(transformer: Transformer, residual: Codes) -> tuple[Codes, dict[int, Undefined]]:
    """Codes (d, n, batch) through all layers: what they become, and who met 0/0."""
    watch = Watch()
    return run_residual(transformer, residual, observer=watch), watch.failures()


def answers(transformer: Transformer, last: Codes) -> np.ndarray:
    """The answer for each last residual vector, codes (d, batch): its number, TIED, or UNDEFINED."""
    prepared, watch = prepared_for(transformer), Watch()
    _, _, numbers = decide(prepared, prepared.arithmetic.values(last[:, None, :]), 0, watch)
    return np.where(watch.failed, UNDEFINED, numbers)


def all_codes(format: Format) -> Codes:
    """Every value of a format, ascending."""
    return np.arange(format.min_code, format.max_code + 1)


def rising_pairs(format: Format) -> Codes:
    """All pairs T_NO < T_SI, as (2, pairs)."""
    low, high = np.triu_indices(format.size, 1)
    return all_codes(format)[np.stack([low, high])]
