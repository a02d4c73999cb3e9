"""The compiler: a captured graph becomes one IR, is rewritten and fused, and is written in a
dialect."""
