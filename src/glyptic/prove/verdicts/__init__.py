"""What a check answers (`answers`), what it rests on, witnesses, and counterexamples made small."""
