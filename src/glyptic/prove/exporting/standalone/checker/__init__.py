"""What check.py consists of, in the order in which to read it. Standard library only; no line of Glyptic.

What a claim means:
 numbers        formats, rounding, and every operation, exp and root among them, in integers
 transformer    the forward pass
 meaning        whether a claim is true at one element of what it ranges over
 elements       what it ranges over, and walking through it
 words          the claim in words

What is read, and refused:
 reading        JSON, field by field; names, if they cannot be taken for more
 models         a transformer
 subjects       what a claim is about
 claims         a claim, and the nodes that it is made of

What a verdict says, against that:
 report         lines of what is verified, tried, or on trust
 examples       a counterexample or a witness, run again
 verdict        its sentence, its counts, and what walking finds

Of a machine:
 machine        the automaton of a transformer, whose states are closed under every token
 states         a claim on inputs, by the automata of its transformers

What lies beside it:
 question       question.smt2, as it is read
 arithmetic     its functions, against `numbers`
 comparison     its run and its assertions, against `meaning`
 assertion      its last assertion, where no run goes
 files          the manifest, the README, the clauses and the proof
 command        the program
"""
