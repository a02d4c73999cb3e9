"""Device code of CUDA and HIP on a CPU: an emulation of blocks, warps and their schedules."""
