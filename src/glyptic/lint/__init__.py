"""The linter: what the errata of hand-made constructions taught to look for.

Some is read off the `weights`, other things are seen on `runs`, of all inputs up to some length, then of longer ones; `sums` does
every sum again in the other order. `findings` has the severities, what suppresses a finding, and the report. What must hold is
proved, not linted.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

from glyptic.arguments import Count, checked
from glyptic.exact import Transformer
from glyptic.lint.findings import SEVERITIES, Finding, Report, Severity, Suppression
from glyptic.lint.runs import masked_keys, saturation
from glyptic.lint.sample import Sample, look, sample_inputs
from glyptic.lint.sums import sum_order
from glyptic.lint.weights import dead_heads, dead_layers, fixed_last_position, flags_left_over, never_read
from glyptic.progress import progress_bar

RULES: dict[str, Callable[[Sample], Iterator[Finding]]] = {
    "masked keys": masked_keys,
    "0/0": masked_keys,
    "fixed last position": fixed_last_position,
    "flag left over": flags_left_over,
    "never read": never_read,
    "dead head": dead_heads,
    "dead layer": dead_layers,
    "saturation": saturation,
    "order of a sum": sum_order,
}


@checked
def lint(
    transformer: Transformer,
    runs: Annotated[int, Count(1, 10**6)] = 512,
    *,
    ignore: str | Iterable[str] = (),
    progress: bool = False,
) -> Report:
    """What the rules find, the worst first, on so many runs; `ignore` names rules, or places of rules, to be silent.

    `progress` shows on standard error how far it is.

    >>> from glyptic.exact.random import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> found = lint(random_transformer(Fixed(3), seed=1), runs=30, ignore=["saturation", "order of a sum@layer 0"])
    >>> sorted({(finding.severity, finding.rule) for finding in found})
    [('error', 'masked keys'), ('note', 'order of a sum')]
    >>> print(found.summary())
    1 error, 0 warnings, 6 notes, 6 suppressed
    """
    wanted = [ignore] if isinstance(ignore, str) else list(ignore)
    suppressions = [Suppression.parse(text, list(RULES)) for text in wanted]
    sample = look(transformer, runs, progress=progress)
    rules = progress_bar([*dict.fromkeys(RULES.values())], desc="rules", unit="rule", disable=not progress)
    found = [finding for rule in rules for finding in rule(sample)]
    return Report.of(found, suppressions, sample.chosen)


__all__ = ["RULES", "SEVERITIES", "Finding", "Report", "Severity", "Suppression", "lint", "sample_inputs"]
