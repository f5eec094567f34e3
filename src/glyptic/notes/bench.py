"""The bench: a transformer without layers, and data put straight into the residual stream, so that all values are met.

Everything goes through the engine that runs transformers. Streams have the shape (coordinates, positions, batch).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glyptic.exact import Transformer, Undefined
from glyptic.exact.forward import State, forward
from glyptic.exact.running import decide, prepared_for
from glyptic.numbers import Codes, Format

ANSWERS = {-1: "TIE", -2: "0/0", 0: "NO", 1: "YES"}


def carrier(format: Format, width: int, length: int = 1, name: str = "carrier") -> Transformer:
    """A transformer without layers, NO in the first coordinate and YES in the second: the bench on which layers are
    tried.
    """
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
    failures: dict[int, Undefined] = {}

    def complain(error_at: Callable[[int], Undefined], where: np.ndarray) -> None:
        for position, item in np.argwhere(where):
            failures.setdefault(int(item), error_at(int(position)))

    prepared = prepared_for(transformer)
    out, _ = forward(prepared, prepared.arithmetic.values(residual), State(), _ignore, complain)
    return prepared.arithmetic.codes(out), failures


def answers(transformer: Transformer, last: Codes) -> np.ndarray:
    """The answer for each last residual vector, codes (d, batch): its number, TIED, or −2 for 0/0."""
    undefined = np.zeros(last.shape[1], bool)

    def complain(_: Any, where: np.ndarray) -> None:
        undefined[:] |= where[0]

    prepared = prepared_for(transformer)
    values = prepared.arithmetic.values(last[:, None, :])
    _, _, numbers = decide(prepared, values, 0, _ignore, complain)
    return np.where(undefined, -2, numbers)


def _ignore(name: str, array: Any) -> None:
    pass


def all_codes(format: Format) -> Codes:
    """Every value of a format, ascending."""
    return np.arange(format.min_code, format.max_code + 1)


def rising_pairs(format: Format) -> Codes:
    """All pairs T_NO < T_SI, as (2, pairs)."""
    low, high = np.triu_indices(format.size, 1)
    return all_codes(format)[np.stack([low, high])]
