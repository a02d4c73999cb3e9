"""Kernels that leave: packages made of verdicts, opened again, and checked on another machine."""
