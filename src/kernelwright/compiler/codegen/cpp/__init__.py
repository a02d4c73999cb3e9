"""C++ with OpenMP for a CPU."""
