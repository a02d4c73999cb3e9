// cuRAND for the emulation.
#pragma once
#define CURAND_H_
#include "cuda_runtime.h"
#define RAND_IS_HOST 1
#define RAND(name) curand##name
#define RAND_C(name) CURAND_##name
#include "libraries/rand.h"
#undef RAND
#undef RAND_C
#undef RAND_IS_HOST
