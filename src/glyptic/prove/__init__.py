"""Claims and what decides them: enumeration, solvers, the smallest counterexample, certificates, least precision.

expressions           what is claimed, written in Python (with `conditions`); `evaluation` gives it a value in any arithmetic
subjects, claims      what a claim ranges over, and the claim; `naming` refuses names that do not exist, `scopes` what is ill made
answers               Proved, Refuted, Vacuous, Unknown
checking, theorems    deciding a claim; the common ones by name; `existence` makes witnesses of what a method finds
enumeration/          all inputs or values, each prefix computed once; in units, on all cores or a cluster, with a journal
smt/                  claims on free values put to solvers, over bit-vectors that compute what the engines compute
symbolic/             claims on inputs by decision diagrams over the tokens, where there are too many to run
bounds/               claims on values and dense layers by intervals, box by box
lemmas, library/      the lemma base decided for a format (`facts`); the theorems of all constructions
languages             automata, regular expressions, Tomita's languages; `recognisers` builds transformers for them
minimise              counterexamples made small, run in exact fractions
certificates          a verdict with its whole claim, as JSON (`portable`); `rechecking` checks it again, `reading` trusts no file
pinning, words        what a predicate is, with all that it calls; words of others as they may be printed
export/               a folder that a stranger can check without Glyptic: SMT-LIB, clauses, a proof, and what checks them
precision, sweeps     the least precision of a construction; a claim over many formats; `figures` draws them
linting               what goes wrong in hand-made transformers, looked for in one, by severity
"""

from glyptic.prove.answers import Counterexample, Proved, Refuted, Unknown, Vacuous, Verdict
from glyptic.prove.certificates import load_certificate, save_certificate
from glyptic.prove.checking import check
from glyptic.prove.claims import Block, Claim, Inputs, Values, block, exists, inputs
from glyptic.prove.export import export
from glyptic.prove.expressions import (
    LEAST,
    TRUE,
    B,
    ClaimError,
    accepted,
    after,
    answer,
    at,
    attention_weight,
    before,
    defined,
    exp,
    holds,
    let,
    logit,
    maximum,
    minimum,
    parameter,
    relu,
    root,
    score,
    softmax,
    token,
    variables,
    where,
)
from glyptic.prove.languages import Automaton, regular, tomita
from glyptic.prove.lemmas import facts
from glyptic.prove.linting import lint
from glyptic.prove.precision import LeastPrecision, least_precision
from glyptic.prove.rechecking import recheck
from glyptic.prove.recognisers import recogniser
from glyptic.prove.sweeps import Sweep, sweep
from glyptic.prove.theorems import decisive, equivalent, language, never_zero_attention

__all__ = [
    "LEAST",
    "TRUE",
    "Automaton",
    "B",
    "Block",
    "Claim",
    "ClaimError",
    "Counterexample",
    "Inputs",
    "LeastPrecision",
    "Proved",
    "Refuted",
    "Sweep",
    "Unknown",
    "Vacuous",
    "Values",
    "Verdict",
    "accepted",
    "after",
    "answer",
    "at",
    "attention_weight",
    "before",
    "block",
    "check",
    "decisive",
    "defined",
    "equivalent",
    "exists",
    "exp",
    "export",
    "facts",
    "holds",
    "inputs",
    "language",
    "least_precision",
    "let",
    "lint",
    "load_certificate",
    "logit",
    "maximum",
    "minimum",
    "never_zero_attention",
    "parameter",
    "recheck",
    "recogniser",
    "regular",
    "relu",
    "root",
    "save_certificate",
    "score",
    "softmax",
    "sweep",
    "token",
    "tomita",
    "variables",
    "where",
]
