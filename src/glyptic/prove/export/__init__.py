"""A verdict written out so that it can be checked without Glyptic.

folder          the folder: what is in it, written whole or not at all; `readme` writes its README
question        the question that solvers answer, as SMT-LIB in plain terms (`named_terms`, `named_circuits`, `functions`, `smtlib`)
apart           proofs by CaDiCaL and cvc5
standalone/     the programs that are copied into a folder
"""

from glyptic.prove.export.folder import Exported, export

__all__ = ["Exported", "export"]
