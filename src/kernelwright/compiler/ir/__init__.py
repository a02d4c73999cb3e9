"""The loop language between fusion and the emitters, and passes over it."""
