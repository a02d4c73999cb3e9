"""The parts that CUDA and Triton share: axes, stages, launches, names."""
