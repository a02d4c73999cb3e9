"""Fusion turns a graph into a program by choosing which values one kernel computes together."""
