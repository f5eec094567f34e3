"""What was scaled down is said on a figure, and is to be read: no line of it is wider than the figure."""

import pytest

from glyptic import figures
from glyptic.icl.experiments.reproduce import HEADLINES

pytest.importorskip("matplotlib")
SENTENCE = "Scaled down: d = 4, 8 examples (paper: 8 and 15), decoder of 4 layers × 64 (paper: 8 × 128), WIDE MMMM. "


@pytest.mark.parametrize("inches", [5.0, 8.2, 11.5, 15.5])
@pytest.mark.parametrize("text", [SENTENCE * 4, *(make().scaled_down for make in HEADLINES.values())])
def test_a_note_is_not_wider_than_its_figure(inches, text):
    """That of task diversity lost its first and its last words."""
    figure, _ = figures.new(size=(inches, 4.0))
    figures.note(figure, text)
    figure.canvas.draw()
    box, whole = figure._supxlabel.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1
    assert figure._supxlabel.get_text().split() == text.split()
