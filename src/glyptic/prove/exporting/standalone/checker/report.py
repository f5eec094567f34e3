"""What is said in the end: lines of what was verified, tried, or taken on trust."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Report:
    """Lines of what was found; `wrong` if one of them contradicts the verdict."""

    lines: list[str] = field(default_factory=list)
    wrong: bool = False

    def verified(self, text: str) -> None:
        self.lines.append(f"verified     {text}")

    def tried(self, text: str) -> None:
        self.lines.append(f"tried        {text}")

    def trusted(self, text: str) -> None:
        self.lines.append(f"on trust     {text}")

    def must(self, condition: bool, text: str, otherwise: str) -> bool:
        self.lines.append(f"verified     {text}" if condition else f"CONTRADICTED {otherwise}")
        self.wrong = self.wrong or not condition
        return condition
