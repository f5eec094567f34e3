"""A verdict written out so that it can be checked without Glyptic.

folder          the folder: what is in it, written whole or not at all; `readme` writes its README
question        what solvers answer, in plain terms (`named_terms`), as SMT-LIB (`smtlib`)
apart           proofs by CaDiCaL and cvc5
standalone/     the programs that are copied into a folder
"""

from glyptic.prove.exporting.folder import Exported, export

__all__ = ["Exported", "export"]
