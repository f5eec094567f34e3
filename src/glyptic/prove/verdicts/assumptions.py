"""What a verdict rests on, besides the claim itself: named in every answer, whoever gave it."""

from __future__ import annotations

from glyptic.exact import Transformer
from glyptic.exact.parts import choices
from glyptic.exact.running import prepared_for
from glyptic.numbers.hosts import Engine, arithmetic_for
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values

KERNELS = "compiled kernels compute in IEEE 754 hosts what fractions do (glyptic.numbers.hosts says why)"


def of_meaning(claim: Claim) -> tuple[str, ...]:
    """What the claim is taken to mean: the rounding, the options of its transformers, exp, predicates.

    >>> from glyptic.numbers import Fixed
    >>> x, = e.variables("x")
    >>> of_meaning(Claim(Values("x", Fixed(2)), e.exp(x) >= 0))  # doctest: +NORMALIZE_WHITESPACE
    ('the rounding of fixed:2 is the one meant: nearest, ties to the smaller, saturating',
     'exp is correctly rounded (enclosures by mpmath)')
    """
    subject, nodes = claim.subject, claim.parts()
    ties = "even" if getattr(subject.format, "ties", "zero") == "even" else "the smaller"
    out = [f"the rounding of {subject.format} is the one meant: nearest, ties to {ties}, saturating"]
    transformers = subject.transformers if isinstance(subject, Inputs | Layers) else {}
    out += [_options(name, transformer) for name, transformer in transformers.items()]
    if transformers or any(isinstance(node, e.Operation) and node.name == "exp" for node in nodes):
        out.append("exp is correctly rounded (enclosures by mpmath)")
    for node in nodes:
        if isinstance(node, e.Holds):
            out.append(f"the Python predicate {node.name} says what is meant, and answers the same each time")
    return tuple(dict.fromkeys(out))


def _options(name: str, transformer: Transformer) -> str:
    options = ", ".join(f"{option} {value}" for option, value in vars(transformer.options).items())
    chosen = dict.fromkeys(f"{name.rpartition('.')[2]} {value}" for name, value in choices(transformer).items())
    options = ", ".join([options, *chosen])
    return f"the transformer{' ' * bool(name)}{name} is read with the options {options}"


def of_enumeration(claim: Claim, engine: Engine) -> tuple[str, ...]:
    """What a verdict by enumeration rests on."""
    subject = claim.subject
    assert subject.format is not None
    transformers = [] if isinstance(subject, Values) else list(subject.transformers.values())
    used = [prepared_for(t, engine).arithmetic for t in transformers] or [arithmetic_for(subject.format, engine=engine)]
    return (*of_meaning(claim), *([KERNELS] if type(used[0]).__name__ == "Fast" else []))


def of_solvers(claim: Claim, enclosed: str) -> tuple[str, ...]:
    """What a proof by solvers rests on besides them; `enclosed` names the functions that are only enclosed."""
    trusted = ["the solvers' circuits compute what the reference arithmetic does (tests/prove/test_terms.py)"]
    if not isinstance(claim.subject, Values):
        known = "rounding is monotone and commutes with negation; with subnormals, differences tell apart"
        trusted.append(f"{known} (theorems.lemmas)")
    if enclosed:
        how = "is monotone and lies" if enclosed == "exp" else "lie" if "," in enclosed else "lies"
        trusted.append(f"{enclosed} {how} within the staircases computed for {'them' if ',' in enclosed else 'it'}")
    return (*of_meaning(claim), *trusted)
