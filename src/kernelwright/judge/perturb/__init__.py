"""Perturbations of inputs and weights: drawn in secret, and beyond what the task draws."""
