"""What tests and benchmarks use: the zoo of cheats and honest kernels, programs for emitters."""
