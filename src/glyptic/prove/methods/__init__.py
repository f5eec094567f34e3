"""What decides a claim, one folder a method; none knows of another."""
