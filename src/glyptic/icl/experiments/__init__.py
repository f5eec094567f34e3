"""Trained learners and classical baselines on sampled prompts, held against the exact theory: torch and scikit-learn."""
