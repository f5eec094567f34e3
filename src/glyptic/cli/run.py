"""`glyptic run`: one input through one transformer, in its own arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from glyptic.arguments import Count
from glyptic.cli.reading import FormatName, Model, Text
from glyptic.exact.running import Engine
from glyptic.numbers import Attention


@dataclass(frozen=True)
class RunCommand:
    """Run a transformer on an input and print its answer, and, if asked, all that it computes on the way.

    MODEL is a folder with config.json and model.safetensors, or the name of a built-in decider with its parameters.

    Examples: glyptic run parity 0110
              glyptic run contains:11,8 0110 --trace --format fixed:4
              glyptic run "regex:(01)*,8" 0101
    """

    model: Model
    """A folder, or a built-in decider such as parity:8."""
    input: Text
    """The input: characters if all tokens are single characters, else words."""
    trace: bool = False
    """Print the residual stream after every step, and the attention weights, as exact fractions."""
    steps: Annotated[int, Count(1, 10**6)] = 1
    """Steps of chain of thought: each appends the answer and goes on."""
    format: FormatName = None
    """Round every weight to this format first, such as fixed:4, float:5,10/even or fp16."""
    attention: Attention | None = None
    """Read the same weights with another attention: max-subtracted softmax, or hard."""
    engine: Engine = "auto"
    """auto takes the compiled engine where it is proved exact; reference computes in fractions."""
    latex: bool = False
    """Print it in LaTeX, to paste into a paper: the answer, and with --trace the tables."""

    def main(self) -> None:
        from glyptic import programs
        from glyptic.exact import show_number, show_trace

        transformer = programs.open(self.model, self.format)
        if self.attention is not None:
            transformer = transformer.with_options(attention=self.attention)
        patterns = ["embedding", "*.after_*", "*.weights", "final_norm"] if self.trace else False
        run = transformer.run(self.input, steps=self.steps, trace=patterns, engine=self.engine)
        if self.latex:
            return print(run.to_latex())
        if self.trace:
            print(show_trace(run), end="\n\n")
        for name, values in {"logits": run.logits, "probabilities": run.probabilities}.items():
            shown = zip(transformer.answers, values, strict=False)
            if values:
                print(f"{name:<14} " + "  ".join(f"{a} {show_number(x, transformer.format)}" for a, x in shown))
        if self.steps > 1:
            print(f"{'chain':<14} {' '.join(run.chain)}")
        print(f"{'answer':<14} {run.answer}")
