"""From a module to a graph of ATen operators."""
