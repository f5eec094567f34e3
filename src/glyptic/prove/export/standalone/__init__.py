"""What is copied into an exported folder: plain Python of the standard library alone, each file whole in itself.

blast    SMT-LIB to DIMACS
drat     checks a proof that clauses have no solution
"""
