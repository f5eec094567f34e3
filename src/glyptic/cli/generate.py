"""`glyptic generate`: what a trained decoder writes after a prompt."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import Count, Number, Readable, Seed
from glyptic.cli.reading import refuse_idle

RunPlace = Annotated[Positional[str], Readable("folder"), arg(metavar="RUN")]


@dataclass(frozen=True)
class GenerateCommand:
    """Let a trained decoder go on after a prompt, token by token as they come; a decider says its answer.

    RUN is the folder of a run of `glyptic train`, or any folder with a model and its tokenizer.json, of a public family too.
    The most likely token is taken each time, unless a temperature is given; then the filters say among which it is drawn.

    Examples: glyptic generate book "Once upon a time" --temperature 0.8 --top-p 0.95 --seed 1
              glyptic generate sums "012+989="
              glyptic generate book --most 500 --beams 4
    """

    run: RunPlace
    """A run, or a folder with a model and its vocabulary."""
    prompt: Annotated[Positional[str], arg(metavar="[PROMPT]")] = ""
    """What comes before: text; for arithmetic and deciders tokens of their vocabulary. Left out: the beginning of a line."""
    most: Annotated[int, Count(1, 10**6)] | None = None
    """New tokens at most; left out: 200, or as many as the model has places for. The answer of a problem ends by itself."""
    temperature: Annotated[float, Number(least=0, most=1e6)] = 0.0
    """0 takes the most likely token; 1 draws as the model says; more is bolder."""
    top_k: Annotated[int, Count(1, 10**9)] | None = None
    """Draw among the k most likely tokens alone."""
    top_p: Annotated[float, Number(above=0, most=1)] | None = None
    """Draw among the fewest tokens that are p likely together."""
    min_p: Annotated[float, Number(above=0, most=1)] | None = None
    """Draw among tokens at least p times as likely as the most likely one."""
    seed: Seed | None = None
    """Of what is drawn: the same seed, the same text."""
    beams: Annotated[int, Count(1, 1000)] = 1
    """Keep so many beginnings at a time, and print the most likely text when it is whole."""
    which: Literal["best", "last"] = "best"
    """Of a run: those of its best evaluation, or its last ones."""

    def main(self) -> None:
        from glyptic.nn import Sampling
        from glyptic.train.using import answer, continued, in_use

        drawn = ("top_k", "top_p", "min_p", "seed")
        if self.temperature == 0:
            refuse_idle(self, drawn, "at --temperature 0, which takes the most likely token")
        if self.beams > 1:
            refuse_idle(self, ("temperature", *drawn), "with --beams, which draw nothing")
        used = in_use(self.run, self.which)
        if used.decides:
            refuse_idle(self, ("most", "temperature", *drawn, "beams"), "on a decider, which gives one answer")
            return print(answer(used, self.prompt))
        sampling = Sampling(self.temperature, self.top_k, self.top_p, self.min_p)
        for piece in continued(used, self.prompt, self.most, sampling, self.seed, self.beams):
            sys.stdout.write(piece)
            sys.stdout.flush()
        print()
