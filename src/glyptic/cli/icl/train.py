"""`glyptic icl train`: train a learner in context and draw its curve over the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glyptic.arguments import Stem, affordable
from glyptic.cli.icl import flags
from glyptic.cli.reading import refuse_idle


@dataclass(frozen=True)
class TrainCommand:
    """Train linear attention, softmax attention, deep linear attention or a small decoder on in-context regression.

    Prints its risk beside the exact minimum and Bayes-optimal ridge; draws the curve over the exact flow (SGD) or over
    the exact minimum (Adam). Interrupted, it goes on from where it was when called again with the same options.
    """

    learner: Literal["lsa", "softmax", "softmax2", "deep", "decoder"] = "lsa"
    """linear attention; softmax attention of one head, or two of opposite sign; L layers of LSA; GPT-style decoder"""
    d: flags.TheDimension = 5
    N: flags.TrainingLength = 20
    spectrum: flags.Spectrum = "isotropic"
    noise_variance: flags.NoiseVariance = 0.0
    optimizer: Literal["adam", "sgd"] = "adam"
    """sgd follows the gradient flow: its curve is drawn over it"""
    steps: flags.TrainingSteps = 1000
    batch: flags.Batch = 256
    rate: flags.Rate = None
    layers: flags.Layers = 3
    width: flags.Width = 64
    sigma: flags.Start = None
    curriculum: flags.Curriculum = 0
    seed: flags.TheSeed = 0
    prompts: flags.Prompts = 10_000
    out: Stem = Path("icl-train")
    """where the figure (.svg, .png), its data (.csv) and the checkpoint (.safetensors) go"""

    def main(self) -> None:
        flags.check(self)
        from glyptic import figures
        from glyptic.icl.experiments.over_flow import TrainingRun, draw, fit, summary

        layered, of_start = self.learner in ("deep", "decoder"), self.learner == "lsa"
        refuse_idle(self, () if layered else ("layers",), f"on {self.learner}, which has one layer")
        refuse_idle(self, () if self.learner == "decoder" else ("width",), f"on {self.learner}: it is the decoder's")
        refuse_idle(self, () if of_start else ("sigma",), f"on {self.learner}: it is of the start of lsa")
        affordable("a batch of prompts", self.batch, self.N + 1, self.d + 1)
        default = 0.002 if self.learner == "decoder" else {"adam": 0.03, "sgd": 0.02}[self.optimizer]
        settings = {name: value for name, value in self.__dict__.items() if name != "out"}
        run = TrainingRun(**settings | {"rate": default if self.rate is None else self.rate})
        _, history = fit(run, self.out.with_name(self.out.name + ".safetensors"))
        flags.show(summary(run, history))
        figure, axes = figures.new()
        data = draw(axes, run, history)
        flags.save(figure, data, self.out)
