"""Lowering of ATen operators to elementary nodes: one small function per operator, in one table."""
