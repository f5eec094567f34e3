"""Programs that are copied into an exported folder: they run alone, and import nothing of Glyptic.

check       a claim and its verdict, from their definitions; and, with the others, all that lies beside them
checker/    what check.py consists of, one idea a file
blast       SMT-LIB to DIMACS
drat        checks a proof that clauses have no solution
"""
