"""The loop language between fusion and the emitters, and changes of it."""
