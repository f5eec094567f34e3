"""Claims and what decides them: enumeration, diagrams, bounds, solvers; the smallest counterexample; certificates.

claims/         what is claimed, written in Python: expressions, what they range over, what gives them a value
elements/       what a claim ranges over, made concrete: the tree of inputs, values put into layers
verdicts/       Proved, Refuted, Vacuous, Unknown; what they rest on; witnesses; counterexamples made small
portable/       claims and transformers as JSON; what a predicate is; files that nobody vouches for
methods/        what decides a claim: `enumeration` runs all, `symbolic` makes diagrams, `bounds` cuts boxes, `smt` asks solvers
checking        a claim goes to the method that can decide it; `questions` are the common claims by name
certificates/   a verdict with its whole claim as one file, and the same checked again
exporting/      a folder that a stranger can check without Glyptic: SMT-LIB, clauses, a proof, and what checks them
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.prove.certificates.rechecking import recheck as recheck
    from glyptic.prove.certificates.saving import load_certificate as load_certificate
    from glyptic.prove.certificates.saving import save_certificate as save_certificate
    from glyptic.prove.checking import check as check
    from glyptic.prove.claims.claim import Claim as Claim
    from glyptic.prove.claims.claim import exists as exists
    from glyptic.prove.claims.expressions import LEAST as LEAST
    from glyptic.prove.claims.expressions import TRUE as TRUE
    from glyptic.prove.claims.expressions import B as B
    from glyptic.prove.claims.expressions import ClaimError as ClaimError
    from glyptic.prove.claims.expressions import accepted as accepted
    from glyptic.prove.claims.expressions import after as after
    from glyptic.prove.claims.expressions import answer as answer
    from glyptic.prove.claims.expressions import at as at
    from glyptic.prove.claims.expressions import attention_weight as attention_weight
    from glyptic.prove.claims.expressions import before as before
    from glyptic.prove.claims.expressions import defined as defined
    from glyptic.prove.claims.expressions import exp as exp
    from glyptic.prove.claims.expressions import holds as holds
    from glyptic.prove.claims.expressions import let as let
    from glyptic.prove.claims.expressions import logit as logit
    from glyptic.prove.claims.expressions import maximum as maximum
    from glyptic.prove.claims.expressions import minimum as minimum
    from glyptic.prove.claims.expressions import parameter as parameter
    from glyptic.prove.claims.expressions import relu as relu
    from glyptic.prove.claims.expressions import root as root
    from glyptic.prove.claims.expressions import score as score
    from glyptic.prove.claims.expressions import softmax as softmax
    from glyptic.prove.claims.expressions import token as token
    from glyptic.prove.claims.expressions import variables as variables
    from glyptic.prove.claims.expressions import where as where
    from glyptic.prove.claims.subjects import Inputs as Inputs
    from glyptic.prove.claims.subjects import Layers as Layers
    from glyptic.prove.claims.subjects import Values as Values
    from glyptic.prove.claims.subjects import inputs as inputs
    from glyptic.prove.claims.subjects import layers as layers
    from glyptic.prove.exporting import export as export
    from glyptic.prove.questions import decisive as decisive
    from glyptic.prove.questions import equivalent as equivalent
    from glyptic.prove.questions import language as language
    from glyptic.prove.questions import never_zero_attention as never_zero_attention
    from glyptic.prove.verdicts.answers import Counterexample as Counterexample
    from glyptic.prove.verdicts.answers import Proved as Proved
    from glyptic.prove.verdicts.answers import Refuted as Refuted
    from glyptic.prove.verdicts.answers import Unknown as Unknown
    from glyptic.prove.verdicts.answers import Vacuous as Vacuous
    from glyptic.prove.verdicts.answers import Verdict as Verdict
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
