"""Findings of the linter, what suppresses them, and the report: sorted by severity, with what was suppressed counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from glyptic.errors import InputError

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first


@dataclass(frozen=True)
class Finding:
    """What a rule found: how bad it is, where, and a sentence.

    An error was seen to go wrong: an input without an answer. A warning is a mark that correct transformers do not have. A note
    is true, and may be intended: `reason` says how.
    """

    rule: str
    severity: Severity
    where: str
    message: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.where}: {self.message}"


@dataclass(frozen=True)
class Suppression:
    """A rule that is to be silent, everywhere or at a place; a place covers what lies in it.

    >>> layer = Suppression.parse("dead-head@layer 1", ["dead head"])
    >>> [layer.covers(Finding("dead head", "note", place, "")) for place in ("layer 1, head 0", "layer 10, head 0")]
    [True, False]
    """

    rule: str
    place: str = ""

    @classmethod
    def parse(cls, text: str, rules: list[str]) -> Suppression:
        """RULE or RULE@PLACE; hyphens may stand for the spaces of a rule's name."""
        written, at, place = text.partition("@")
        rule = next((rule for rule in rules if rule.replace(" ", "-") == written.strip().replace(" ", "-")), None)
        if rule is None or (at and not place.strip()):
            raise InputError(
                f"ignore {text!r}: write RULE or RULE@PLACE, such as 'saturation@coordinate x'; the rules are {', '.join(rules)}."
            )
        return cls(rule, place.strip())

    def covers(self, finding: Finding) -> bool:
        inside = finding.where == self.place or finding.where.startswith(f"{self.place},")
        return finding.rule == self.rule and (not self.place or inside)

    def __str__(self) -> str:
        return f"{self.rule}@{self.place}" if self.place else self.rule


@dataclass(frozen=True)
class Report:
    """What was found, the worst first; what was suppressed; and on which inputs it was looked for."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...] = ()
    idle: tuple[str, ...] = ()  # suppressions that covered nothing
    looked_at: str = ""

    @classmethod
    def of(cls, found: list[Finding], suppressions: list[Suppression], looked_at: str) -> Report:
        """Findings sorted by severity (within one, as they were found), without those that are suppressed."""
        ordered = sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
        covered = [any(suppression.covers(finding) for suppression in suppressions) for finding in ordered]
        kept, silent = (tuple(f for f, c in zip(ordered, covered, strict=True) if c is side) for side in (False, True))
        idle = tuple(str(s) for s in suppressions if not any(s.covers(finding) for finding in ordered))
        return cls(kept, silent, idle, looked_at)

    def of_severity(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Those of a severity, and worse."""
        enough = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in enough)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as plain data, for `json.dumps`."""
        return {
            "looked_at": self.looked_at,
            "findings": [asdict(finding) for finding in self.findings],
            "suppressed": [asdict(finding) for finding in self.suppressed],
            "suppressions_without_effect": list(self.idle),
        }

    def summary(self) -> str:
        """How many of each severity, and how many were suppressed.

        >>> Report((Finding("saturation", "note", "coordinate x", ""),)).summary()
        '0 errors, 0 warnings, 1 note'
        """
        counts = [(severity, len(self.of_severity(severity))) for severity in SEVERITIES]
        parts = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts]
        suppressed = [f"{len(self.suppressed)} suppressed"] if self.suppressed else []
        idle = [f"ignored in vain: {', '.join(self.idle)}"] if self.idle else []
        return "; ".join([", ".join([*parts, *suppressed]), *idle])

    def __str__(self) -> str:
        """A line for each finding; the reason why some may be intended once, after the last of them."""
        lines = []
        for place, finding in enumerate(self.findings):
            lines.append(str(finding))
            later = {other.reason for other in self.findings[place + 1 :]}
            if finding.reason and finding.reason not in later:
                lines.append(f"  may be intended: {finding.reason}")
        return "\n".join([*lines, self.summary()])
