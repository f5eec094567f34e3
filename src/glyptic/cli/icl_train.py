"""`glyptic icl train`: train a learner in context and draw its curve over the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Train:
    """Train linear attention, softmax attention, deep linear attention or a small decoder on in-context regression.

    Prints its risk beside the exact minimum and Bayes-optimal ridge; draws the curve over the exact flow (SGD) or over
    the exact minimum (Adam). Interrupted, it goes on from where it was when called again with the same options.
    """

    learner: Literal["lsa", "softmax", "softmax2", "deep", "decoder"] = "lsa"
    """linear attention; softmax attention of one head, or two of opposite sign; L layers of LSA; GPT-style decoder"""
    d: int = 5
    """dimension of the inputs"""
    n: int = 20
    """examples in a training prompt, N"""
    spectrum: str = "isotropic"
    """eigenvalues of Λ: isotropic, inverse (1/i), kappa:100, or numbers as in 1,0.5,0.1"""
    noise: float = 0.0
    """standard deviation of the label noise"""
    optimizer: Literal["adam", "sgd"] = "adam"
    """sgd follows the gradient flow: its curve is drawn over it"""
    steps: int = 1000
    """training steps"""
    batch: int = 256
    """prompts in a step"""
    rate: float | None = None
    """learning rate; by default 0.03 (adam), 0.02 (sgd), 0.002 (decoder)"""
    layers: int = 3
    """layers of `deep` and `decoder`"""
    width: int = 64
    """width of `decoder`"""
    scale: float = 0.3
    """σ of Zhang et al.'s initialisation of linear attention"""
    curriculum: int = 0
    """raise the active dimensions by 1 and the examples by 2 every so many steps; 0 for no curriculum"""
    seed: int = 0
    """of the start and of every batch"""
    out: Path = Path("icl-train")
    """where the figure (.svg, .png), its data (.csv) and the checkpoint (.safetensors) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.experiments.over_flow import Run, draw, fit, summary

        default = 0.002 if self.learner == "decoder" else {"adam": 0.03, "sgd": 0.02}[self.optimizer]
        run = Run(
            learner=self.learner,
            d=self.d,
            N=self.n,
            spectrum=self.spectrum,
            noise=self.noise,
            optimizer=self.optimizer,
            steps=self.steps,
            batch=self.batch,
            rate=default if self.rate is None else self.rate,
            layers=self.layers,
            width=self.width,
            scale=self.scale,
            curriculum=self.curriculum,
            seed=self.seed,
        )
        _, history = fit(run, self.out.with_name(self.out.name + ".safetensors"))
        print(figures.table(summary(run, history)))
        figure, axes = figures.new()
        data = draw(axes, run, history)
        for path in figures.save(figure, data, self.out):
            print(path)
