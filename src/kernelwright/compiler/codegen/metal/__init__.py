"""The Metal emitter: CUDA's kernels in the Metal Shading Language."""
