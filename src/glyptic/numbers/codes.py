"""Between arrays of codes and arrays of numbers: how weights are written, stored and read.

`encode` accepts what people write (integers, floats, fractions, "1/2", "B", "-B", "∞") and refuses what is not in the format;
`decode` gives exact fractions, `to_float64` exact doubles where the format allows it. What `encode` gives knows its format, so
that a transformer can refuse weights that were written in another.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.arguments import shown
from glyptic.errors import FormatError
from glyptic.numbers.formats import CODE_BITS, AnyFormat, Exact, Format, as_format

Codes = np.ndarray  # of int64


class Written(np.ndarray):
    """Codes as `encode` gives them: an array like any other, with the format that they were written in.

    Views keep it, and so does arithmetic on codes, which stays in the format. Plain arrays of codes have none: they mean what
    the transformer that takes them says.
    """

    format: AnyFormat | None

    def __array_finalize__(self, source: Any) -> None:
        self.format = getattr(source, "format", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What is computed from codes: −w is codes; w == 0 and w.sum() are not, and are what they are of any array."""
        return array[()] if return_scalar else self._like(array) if array.dtype == self.dtype else np.asarray(array)

    def _like(self, array: np.ndarray) -> np.ndarray:
        made = array.view(type(self))
        made.format = self.format
        return made

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """With the format, so that weights which went to another process know it there."""
        made: Any = super().__reduce__()
        make, arguments, state = made
        return make, arguments, (state, self.format)

    def __setstate__(self, state: Any) -> None:
        codes, self.format = state
        super().__setstate__(codes)


def written(codes: Codes, format: AnyFormat | None) -> Codes:
    """The codes as weights have them: those of this format, and not to be changed, here or by whoever made them.

    Codes that someone could still write to are copied: a transformer that is in use, or proved, would change under their hands.

    >>> mine = np.array([4, 2])
    >>> kept = written(mine[:], as_format("fixed:2"))
    >>> mine[0] = 7
    >>> kept, str(written_in(kept))
    (array([4, 2]), 'fixed:2')
    """
    plain = np.array(codes) if _writable(codes) else np.asarray(codes)
    plain.flags.writeable = False
    if format is None:
        return plain
    known = plain.view(Written)
    known.format = format
    return known


def _writable(codes: Any) -> bool:
    """Whether the array, or what it is a view of, can be written to."""
    return isinstance(codes, np.ndarray) and (codes.flags.writeable or _writable(codes.base))


def written_in(codes: Codes) -> AnyFormat | None:
    """The format that codes were written in, if they know it."""
    return getattr(codes, "format", None)


def number(text: Any, format: str | AnyFormat) -> Fraction:
    """One number as people write it: 3, 0.25, "1/2", "B" or "∞" for the largest value, "-B" for its negative."""
    format = as_format(format)
    if isinstance(text, str):
        name = text.strip().replace("−", "-").replace("∞", "B")
        if name in ("B", "+B", "-B"):
            return -format.max if name[0] == "-" else format.max
        try:
            if not re.search(r"[eE][+-]?\d{5}", name):  # a power of ten that would fill the memory
                return Fraction(name)
        except (ValueError, ZeroDivisionError):
            pass
        raise FormatError(f"{shown(text)} is not a number; write 3, 0.25, 1/2, B or -B.")
    if isinstance(text, float | np.floating) and not np.isfinite(text):
        raise FormatError(f"{text} is not a number of {format}; its largest value is written B.")
    try:
        return Fraction(text.item() if isinstance(text, np.generic) else text)
    except (TypeError, ValueError):
        raise FormatError(f"{shown(text)} is not a number; write 3, 0.25, 1/2, B or -B.") from None


def encode(values: Any, format: str | AnyFormat, part: str = "value", nearest: bool = False) -> Codes:
    """The codes of numbers, as an int64 array of the same shape.

    A number that is not in the format is an error that names the part and the place; with `nearest` it is rounded instead.

    >>> encode([1, "1/2", "-B"], "fixed:2")
    array([  4,   2, -15])
    """
    format = as_format(format)
    codes = encode_plainly(values, format, part, nearest).view(Written)
    codes.format = format
    return codes


def encode_plainly(values: Any, format: AnyFormat, part: str = "value", nearest: bool = False) -> Codes:
    """The same as a plain array: for what is computed in one format throughout."""
    check_width(format)
    try:
        array = np.asarray(values)
    except ValueError:
        raise FormatError(f"{part}: its rows have different lengths; write an array of one shape.") from None
    if isinstance(format, Format) and _doubles_hold(array, format):
        return np.asarray(_encode_floats(array.astype(np.float64), format, part, nearest))
    items = np.asarray(values, dtype=object)
    out = np.zeros(items.shape, np.int64)
    for place in np.ndindex(items.shape):
        try:
            x = number(items[place], format)
            out[place] = format.code(format.round(x) if nearest else x)
        except OverflowError:
            raise FormatError(f"{_at(part, place)}: {shown(items[place])} is too large for a code of 64 bits.") from None
        except FormatError as error:
            raise FormatError(f"{_at(part, place)}: {error}") from None
    return out


def _at(part: str, place: tuple[int, ...]) -> str:
    return f"{part}{list(place) if place else ''}"


def _doubles_hold(array: np.ndarray, format: Format) -> bool:
    """Whether doubles carry both these numbers and all values of the format."""
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        return False
    if format.precision > 53 or format.greatest_exponent + format.precision > 1023:
        return False
    return array.dtype.kind == "f" or not array.size or max(abs(int(array.max())), abs(int(array.min()))) <= 1 << 53


def _encode_floats(x: np.ndarray, format: Format, part: str, nearest: bool) -> Codes:
    if not np.isfinite(x).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise FormatError(f"{_at(part, place)}: {x[place]} is not a number of {format}; its largest value is written B.")
    limit = float(format.max)
    clipped = np.clip(x, float(format.min), limit)
    exponent = np.frexp(np.where(clipped == 0, 1.0, clipped))[1].astype(np.int64)  # frexp's own are of 32 bits, ranks are not
    scale = np.clip(exponent - format.precision, format.least_exponent, format.greatest_exponent)  # of the last place
    units = np.ldexp(clipped, -scale)
    if nearest:
        units = _nearest(units, format)
    place_error = units != np.trunc(units)
    if not nearest and (place_error.any() or (clipped != x).any()):
        place = tuple(int(i) for i in np.argwhere(place_error | (clipped != x))[0])
        wrong = Fraction(float(x[place]))
        raise FormatError(f"{_at(part, place)}: {wrong} is not a value of {format}; the nearest is {format.round(wrong)}.")
    if format.is_fixed:
        return units.astype(np.int64)
    if not format.subnormals and (np.abs(clipped[clipped != 0]) < float(format.least)).any():
        return _encode_slowly(x, format, part, nearest)
    rank = (scale - format.least_exponent) * format._half + np.abs(units).astype(np.int64) - format._missing
    return np.where(clipped == 0, 0, np.copysign(1, clipped).astype(np.int64) * rank).astype(np.int64)


def _nearest(units: np.ndarray, format: Format) -> np.ndarray:
    """Whole numbers of units; from 2^52 on a double is one, and |x| − ½ would have to be rounded itself."""
    if format.ties == "even":
        return np.rint(units)
    size = np.abs(units)
    return np.copysign(np.where(size < 2.0**52, np.ceil(size - 0.5), size), units)


def _encode_slowly(x: np.ndarray, format: Format, part: str, nearest: bool) -> Codes:
    return encode_plainly(np.vectorize(Fraction, otypes=[object])(x), format, part, nearest)


def decode(codes: Codes, format: str | AnyFormat) -> np.ndarray:
    """Exact fractions, as an object array of the same shape."""
    format, codes = as_format(format), _whole(codes)
    known: dict[int, Fraction] = {}
    flat = [known.get(code) or known.setdefault(code, format.value(code)) for code in np.ravel(codes).tolist()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(np.shape(codes))


def to_float64(codes: Codes, format: str | AnyFormat) -> np.ndarray:
    """The values as doubles; exact, since it is refused where a double is too short."""
    format, codes = as_format(format), np.asarray(_whole(codes))  # plain: what is computed with are no codes that know a format
    if isinstance(format, Exact) or format.precision > 53:
        raise FormatError(f"{format} does not fit in float64; use decode for exact fractions.")
    if format.greatest_exponent + format.precision > 1023 or format.least_exponent < -1022:
        raise FormatError(f"{format} does not fit in float64; use decode for exact fractions.")
    if format.is_fixed:
        return np.ldexp(codes.astype(np.float64), format.least_exponent)
    rank = np.abs(codes) + np.where(codes == 0, 0, format._missing)
    binade = np.maximum(0, rank // format._half - 1)
    units = rank - binade * format._half
    return np.copysign(np.ldexp(units.astype(np.float64), binade + format.least_exponent), codes)


def _whole(codes: Any) -> Codes:
    """An array of whole numbers, as codes are."""
    try:
        array = np.asanyarray(codes)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(isinstance(code, int) for code in array.flat)):
        return array
    raise FormatError(f"{shown(codes)} is no array of codes, which are whole numbers; encode makes them from numbers.")


def check_codes(codes: Codes, format: str | AnyFormat, part: str) -> None:
    """Every code must be one of the format's; the error names the part and the place."""
    format, codes = as_format(format), _whole(codes)
    check_width(format)
    wrong = np.argwhere((codes < format.min_code) | (codes > format.max_code))
    if len(wrong):  # not its size: the place of a number that stands alone is empty
        place = tuple(int(i) for i in wrong[0])
        raise FormatError(f"{_at(part, place)}: code {codes[place]} is not in {format}, whose codes go to {format.max_code}.")


def check_width(format: str | AnyFormat) -> None:
    """A format whose codes do not fit into an array is refused; the widest that fit are named."""
    format = as_format(format)
    if not isinstance(format, Exact) and not format.fits_arrays:
        raise FormatError(
            f"{format} has {format.bits}-bit codes, and arrays of codes have {CODE_BITS} bits: of fixed point fixed:31 is the "
            "widest, of q:M,F those with M + F = 63, of float:E,S those with E + 2S = 63, of ieee:E,M those with E + M = 63."
        )
