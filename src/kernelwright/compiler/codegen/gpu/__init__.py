"""What CUDA and Triton share: axes, stages, launches, names."""
