"""Where a finite-precision run has no value: 0/0, told with its place. Never a NaN, never silently replaced."""

from __future__ import annotations

from glyptic.errors import GlypticError


class Undefined(GlypticError, ArithmeticError):
    """A division of 0 by 0 on the way; `layer`, `head` and `position` count from 0, None where there is none."""

    def __init__(self, message: str, layer: int | None, head: int | None, position: int) -> None:
        super().__init__(message)
        self.layer, self.head, self.position = layer, head, position

    @property
    def place(self) -> tuple[int | None, int | None, int]:
        return self.layer, self.head, self.position


class ZeroAttention(Undefined):
    """Every exp of a query's visible scores rounds to 0."""

    def __init__(self, layer: int, head: int, position: int) -> None:
        super().__init__(
            f"layer {layer}, head {head}, position {position}: every visible score is so low that its exp rounds to 0, "
            "so softmax is 0/0; let the query see a key with a score near 0, or use max-subtracted softmax.",
            layer,
            head,
            position,
        )


class ZeroVariance(Undefined):
    """A norm of a vector without spread, LayerNorm's of a constant one, RMSNorm's of 0, with ε = 0.

    `where` is the number of the layer, or a text that says which other norm it is.
    """

    def __init__(self, where: int | str, position: int, kind: str = "layer") -> None:
        what, name = ("variance", "LayerNorm") if kind == "layer" else ("mean square", "RMSNorm")
        place = where if isinstance(where, str) else f"layer {where}"
        super().__init__(
            f"{place}, position {position}: the {what} rounds to 0 and so does ε, so {name} is 0/0; raise ε.",
            where if isinstance(where, int) else None,
            None,
            position,
        )


class ZeroOutput(Undefined):
    """Every exp of the output's logits rounds to 0."""

    def __init__(self, position: int) -> None:
        super().__init__(
            f"output, position {position}: every logit is so low that its exp rounds to 0, so softmax is 0/0; "
            "use the answer policy 'logits', or normalize the transformer.",
            None,
            None,
            position,
        )
