"""Dialects: one class per language that candidates are written in, with its toolchain."""
