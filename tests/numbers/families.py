"""Which formats the tests run over."""

from glyptic.numbers import NAMED, Fixed, Float, Format, Ieee, Q, parse_format

TIES = ("zero", "even")

# At least one of each kind, host and rule: what random transformers run in.
VARIED = [
    "fixed:2",
    "fixed:3/even",
    "fixed:8",
    "fixed:8/even",
    "fixed:12",
    "q:4,4",
    "q:3,5/even",
    "float:3,3",
    "float:5,5/even",
    "float:4,11",
    "fp16",
    "bf16/zero",
    "fp8_e4m3",
    "fp8_e5m2/zero",
    "ieee:5,6,normal",
]


def small_formats(most: int = 512) -> list[Format]:
    """Every format of the family with at most so many values, each under both tie rules."""
    found: list[Format] = [Fixed(s) for s in range(1, 5)]
    found += [Float(e, s) for e in range(1, 8) for s in range(1, 5)]
    found += [Q(m, f) for m in range(9) for f in range(9) if m + f >= 1]
    found += [Ieee(e, m, subnormals=sub) for e in range(2, 9) for m in range(1, 8) for sub in (True, False)]
    found += NAMED.values()
    return [format.with_ties(ties) for format in found if format.size <= most for ties in TIES]


def varied() -> list[Format]:
    return [parse_format(name) for name in VARIED]  # type: ignore[misc]
