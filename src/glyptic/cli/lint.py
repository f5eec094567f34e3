"""`glyptic lint`: warnings about a transformer."""

from __future__ import annotations

from dataclasses import dataclass

from tyro.conf import Positional


@dataclass(frozen=True)
class Lint:
    """Warn of what goes wrong in hand-made transformers.

    Flags left over, positions whose visible keys can all be masked, a flag at a fixed last position, sums whose order matters,
    coordinates that saturate or are never read, dead layers and heads. The exit status is 1 if there are warnings.
    """

    model: Positional[str]
    """A folder, or a built-in decider such as parity:8."""
    format: str | None = None
    """Round every weight to this format first."""
    runs: int = 512
    """How many inputs are run: all short ones, then longer ones at random."""

    def main(self) -> int:
        from glyptic.cli.models import open_model
        from glyptic.prove.linting import lint

        warnings = lint(open_model(self.model, self.format), self.runs)
        for warning in warnings:
            print(warning)
        print(f"{len(warnings)} warnings" if warnings else "no warnings")
        return 1 if warnings else 0
