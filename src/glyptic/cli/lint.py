"""`glyptic lint`: what goes wrong in hand-made transformers, looked for in one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import UseAppendAction

from glyptic.arguments import Count
from glyptic.cli.reading import FormatName, Model


@dataclass(frozen=True)
class LintCommand:
    """Look for what goes wrong in hand-made transformers.

    Errors: masked keys (all that a position sees), other 0/0. Warnings: fixed last position; flag left over, never read, dead
    head, dead layer where the weights show a slip. Notes, which may be intended: these where nothing depends on them, saturation,
    order of a sum.

    The exit status is 0 if there are no errors and no warnings (notes do not count, nor does what is ignored; --fail-on changes
    it), 1 if there are, 2 for a question that cannot be asked.

    Example: glyptic lint parity:8 --ignore saturation --ignore "order-of-a-sum@layer 0"
    """

    model: Model
    """A folder, or a built-in decider such as parity:8."""
    format: FormatName = None
    """Round every weight to this format first."""
    runs: Annotated[int, Count(1, 10**6)] = 512
    """How many inputs are run: all short ones, then longer ones at random."""
    ignore: Annotated[tuple[str, ...], UseAppendAction] = ()
    """RULE or RULE@PLACE, such as "saturation" or "order-of-a-sum@layer 0": not reported, only counted; may be repeated."""
    fail_on: Literal["error", "warning", "note"] = "warning"
    """The least severity for which the exit status is 1."""
    json: bool = False
    """Print the report as JSON."""

    def main(self) -> int:
        from glyptic import programs
        from glyptic.lint import lint

        report = lint(programs.open(self.model, self.format), self.runs, ignore=self.ignore, progress=True)
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2) if self.json else report)
        return 1 if report.at_least(self.fail_on) else 0
