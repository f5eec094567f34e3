"""What is claimed, as values: expressions and conditions, subjects, the claim; names and scopes checked; `evaluation`."""
