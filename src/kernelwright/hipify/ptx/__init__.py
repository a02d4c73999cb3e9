"""PTX to HIP C++: the asm statements of CUDA sources, and whole PTX programs."""
