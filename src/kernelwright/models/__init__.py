"""Whole models: which modules to make faster, and whether that pays in the model."""
