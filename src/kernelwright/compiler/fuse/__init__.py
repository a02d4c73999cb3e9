"""From a graph to a program: which values one kernel computes together."""
