"""Terminal input and output: answers as text or JSON, progress, errors, and signals."""
