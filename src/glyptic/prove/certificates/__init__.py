"""A verdict with its whole claim, as one file (`saving`), checked again from scratch (`rechecking`)."""
