"""What LaTeX reads in place of each sign: ASCII that it would obey, mathematics, letters with accents; all else by its number.

Everything here is in the kernel, amsmath or amssymb, and in the fonts that every installation has, so that pdflatex never fails.
"""

from __future__ import annotations

OBEYED = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "`": r"{\char96}",
    **{sign: f"{{{sign}}}" for sign in "[]*"},  # after \\ they would be an argument
}

_MATHEMATICS = {
    "−": "-", "∞": r"\infty", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "±": r"\pm",
    "∓": r"\mp", "·": r"\cdot", "×": r"\times", "÷": r"\div", "∘": r"\circ", "√": r"\surd", "∑": r"\sum", "Σ": r"\Sigma",
    "∏": r"\prod", "∫": r"\int", "∂": r"\partial", "∇": r"\nabla", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "⊕": r"\oplus",
    "⊗": r"\otimes", "∀": r"\forall", "∃": r"\exists", "∈": r"\in", "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq",
    "⊃": r"\supset", "⊇": r"\supseteq", "∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset", "∖": r"\setminus", "→": r"\to",
    "←": r"\leftarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⇐": r"\Leftarrow", "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto", "↑": r"\uparrow", "↓": r"\downarrow", "⊤": r"\top", "⊥": r"\bot", "⊢": r"\vdash", "⊨": r"\models",
    "⟨": r"\langle", "⟩": r"\rangle", "⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil", "ℝ": r"\mathbb{R}",
    "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "ℓ": r"\ell", "′": r"{}'", "″": r"{}''",
    "°": r"{}^{\circ}", "✓": r"\checkmark", "✗": r"\boldsymbol{\times}", "½": r"\tfrac12", "¼": r"\tfrac14", "¾": r"\tfrac34",
    "⅓": r"\tfrac13", "⅔": r"\tfrac23", "⋯": r"\cdots", "∼": r"\sim", "≪": r"\ll", "≫": r"\gg", "□": r"\square", "µ": r"\mu",
    "«": r"\ll", "»": r"\gg", "•": r"\bullet", "∗": r"\ast", "⊙": r"\odot", "‖": r"\Vert", "∣": r"\mid", "≅": r"\cong",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "ς": "varsigma",
    "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ϵ": "epsilon",
    "ϕ": "phi", "ϑ": "vartheta",
}  # fmt: skip
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", [*"0123456789+-n"], strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋", [*"0123456789+-"], strict=True))
MATHEMATICS = {
    **_MATHEMATICS,
    **{sign: f"\\{name}" for sign, name in _GREEK.items()},
    **{sign: f"{{}}^{{{digit}}}" for sign, digit in _RAISED.items()},
    **{sign: f"{{}}_{{{digit}}}" for sign, digit in _LOWERED.items()},
}

LETTERS = {
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}",
    "Ł": r"\L{}", "ı": r"\i{}", "¿": r"\textquestiondown{}", "¡": r"\textexclamdown{}", "§": r"\S{}", "¶": r"\P{}",
    "©": r"\copyright{}", "£": r"\pounds{}", "–": r"\textendash{}", "—": r"\textemdash{}", "‐": "-", "‑": "-",
    "…": r"\ldots{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}", "†": r"\dag{}", "‡": r"\ddag{}", "\u00a0": "~", "␣": r"\textvisiblespace{}",
}  # fmt: skip

# combining mark -> the command that puts it on a letter
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u0308": '"',
    "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
