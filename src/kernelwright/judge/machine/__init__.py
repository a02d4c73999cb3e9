"""The device and its host: memory that processes share, cores, clocks, and how fast it is."""
