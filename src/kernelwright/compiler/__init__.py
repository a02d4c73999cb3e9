"""From a captured graph to kernels: one IR, rewritten, fused, and written in a dialect."""
