"""Worker processes, and the GPUs and CPU cores that each of them has to itself."""
