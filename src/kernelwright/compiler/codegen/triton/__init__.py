"""Triton for GPUs."""
