"""Train it, then know what it does: a trained decider as an exact transformer, proved to be its language, or trained until it is.

    decider       a run, or a checkpoint and its task: the model, and its weights as an exact transformer's, unrounded
    rounding      [x] on tensors, with a straight-through gradient
    straight      the forward pass of an exact transformer with gradients: values of the engine, bit for bit
    words         all words up to a length, and what deciders say of them
    calibration   how large activations are, against B; what saturates
    rescaling     powers of two between matrices, so that they lose least when they are rounded
    fine_tuning   training in the format itself
    proving       its language to a length; three normal forms, equal to it; certificates
    formats       accuracy in smaller formats, the smallest that keeps it; the figure
    distilling    all of it in order: `distill`, and the loop of train, prove, add
    keeping       where it stands, so that Ctrl-C loses nothing
    report, saving   what was found, as text, JSON and Markdown; as a folder
    recipes       many deciders, trained and distilled: the table
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.distill.decider import TrainedDecider as TrainedDecider
    from glyptic.distill.decider import open_decider as open_decider
    from glyptic.distill.distilling import Distillation as Distillation
    from glyptic.distill.distilling import distill as distill
    from glyptic.distill.fine_tuning import Tuning as Tuning
    from glyptic.distill.rounding import rounded as rounded
    from glyptic.distill.saving import load_report as load_report
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
