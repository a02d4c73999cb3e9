"""Capture of a module as a graph of ATen operators."""
