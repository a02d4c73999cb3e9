"""The text of a candidate around its kernels."""
