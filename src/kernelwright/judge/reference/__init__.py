"""What is right: the reference in float64, its own error, and candidates' results beside it."""
