"""What a number is: formats, rounding, saturation, exp; a reference in exact fractions and a fast path equal to it.

formats       the sets of numbers, by name; rounding into them
codes         numbers as integers, for weights and files
reference     the arithmetic in fractions; `scalarwise` lifts it to arrays
fast          the same arithmetic, compiled: `kernels`, `products`; `hosts` proves where it is exact
exponential   the correctly rounded exp
activations   the correctly rounded gelu, gelu_tanh and silu
"""

from glyptic.numbers.arithmetic import Activation, Arithmetic, Attention, Products
from glyptic.numbers.codes import (
    Codes,
    check_codes,
    check_width,
    decode,
    encode,
    number,
    to_float64,
    written,
    written_in,
)
from glyptic.numbers.exponential import exp_rounded
from glyptic.numbers.formats import (
    NAMED,
    AnyFormat,
    Exact,
    Fixed,
    Float,
    Format,
    Ieee,
    Q,
    Ties,
    as_format,
    parse_format,
    same_numbers,
)
from glyptic.numbers.reference import Reference

__all__ = [
    "NAMED",
    "Activation",
    "AnyFormat",
    "Arithmetic",
    "Attention",
    "Codes",
    "Exact",
    "Fixed",
    "Float",
    "Format",
    "Ieee",
    "Products",
    "Q",
    "Reference",
    "Ties",
    "as_format",
    "check_codes",
    "check_width",
    "decode",
    "encode",
    "exp_rounded",
    "number",
    "parse_format",
    "same_numbers",
    "to_float64",
    "written",
    "written_in",
]
