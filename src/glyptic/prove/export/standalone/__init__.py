"""Programs that are copied into an exported folder: each runs alone, and imports nothing of Glyptic.

check    a claim and its verdict, from their definitions; and, with the others, all that lies beside them
files    the question, the clauses and the proof of a folder, against the claim
blast    SMT-LIB to DIMACS
drat     checks a proof that clauses have no solution
"""
