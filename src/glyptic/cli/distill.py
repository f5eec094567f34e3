"""`glyptic distill`: a trained decider in a finite format, proved to be its language, or trained until it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from glyptic.arguments import Count, FolderToFill, Number, Readable, Seed
from glyptic.cli.reading import refuse_idle


@dataclass(frozen=True)
class DistillCommand:
    """Bring a trained decider into the exact world: an exact transformer in a format, with what is proved of it.

    Its weights are rescaled by powers of two and rounded. Then it is proved, over all words up to a length, that it is the
    language it was trained for; where a word is answered wrongly, the smallest wrong words are added to the data and it is
    fine-tuned in the format itself, every operation rounded as it will run: train, prove, add, at most --rounds times. The
    result is normalized 0-1, ∞ and ±∞, each proved to answer alike, and tried in smaller formats.

    RUN is a run of `glyptic train`, a checkpoint (with --task), a recipe, or a folder of recipes, which gives a table. The
    folder that is written opens as the transformer itself: glyptic run OUT 0110; its proofs are checked again by
    glyptic prove --recheck OUT/certificates/language.json. Ctrl-C loses nothing: the same words again go on.

    The exit status is 0 if all is proved, 1 if something is refuted, 2 if it could not be done.

    Examples: glyptic train tomita:4,12,held_out=0 --norm none --layers 2 --out t4 && glyptic distill t4 --out t4-exact
              glyptic distill recipes/distill/tomita-2.toml --format fixed:4 --fine-tune 300 --out t2
              glyptic distill recipes/distill --out table
    """

    run: Annotated[Positional[Annotated[Path, Readable("either")]], arg(metavar="RUN")]
    """A run, a checkpoint, a recipe, or a folder of recipes."""
    format: Annotated[str, arg(metavar="FORMAT")] = "fixed:8"
    """The format, such as fixed:8, float:4,6 or q:4,8."""
    out: FolderToFill = Path("distilled")
    """The folder to write; of a folder of recipes, one in it for each."""
    task: Annotated[str | None, arg(metavar="TASK")] = None
    """Of a checkpoint: what it was trained for, such as tomita:4."""
    max_length: Annotated[int, Count(1, 64)] = 12
    """The length to which it is proved."""
    fine_tune: Annotated[int, Count(0, 10**7)] = 0
    """Steps of fine-tuning in the format before the first proof."""
    rounds: Annotated[int, Count(0, 10)] = 10
    """Rounds of train, prove, add, at most; 0 shows the smallest wrong word and leaves it."""
    steps: Annotated[int, Count(1, 10**7)] = 400
    """Steps of fine-tuning in a round."""
    rate: Annotated[float, Number(above=0, most=1e3)] = 2e-3
    """Greatest learning rate of fine-tuning."""
    seed: Seed = 0
    """Of the batches that fine-tuning sees."""
    saturate: bool = False
    """Let weights beyond the format's largest value B be B."""
    sweep: bool = True
    """Try smaller formats as well."""
    overwrite: bool = False
    """Let it take the place of another distillation in --out."""
    format_steps: Annotated[int, Count(0, 10**7)] = 0
    """Steps of fine-tuning in each smaller format that loses accuracy, down to the first that does not get it back."""

    def main(self) -> int:
        import torch

        from glyptic.distill import Tuning, distill
        from glyptic.distill.recipes import deciders_in
        from glyptic.distill.report import table_of
        from glyptic.numbers import as_format

        as_format(self.format)
        if not self.sweep:
            refuse_idle(self, ("format_steps",), "with --no-sweep, which tries no smaller formats")
        if not self.rounds:
            refuse_idle(self, ("steps",), "with --rounds 0, which trains nothing away")
        if not (self.rounds or self.fine_tune or self.format_steps):
            refuse_idle(self, ("rate", "seed"), "where nothing is fine-tuned")
        torch.set_num_threads(1)  # of models this small: threads would wait for one another
        tuning = Tuning(steps=self.steps, rate=self.rate, seed=self.seed)
        many = []
        for decider, out in deciders_in(self.run, self.out, self.task):
            found = distill(
                decider, self.format, max_length=self.max_length, fine_tune=self.fine_tune, rounds=self.rounds, tuning=tuning,
                saturate=self.saturate, sweep=self.sweep, format_steps=self.format_steps, out=out,
                overwrite=self.overwrite,
            )  # fmt: skip
            found.save(out, overwrite=self.overwrite)
            print(f"{found}\n  written to {out}", flush=True)
            many.append(found)
        if len(many) > 1:
            print(f"\n{table_of(many)}")
        return 0 if all(found.is_proved for found in many) else 1
