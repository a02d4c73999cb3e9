// A stand-in for AMD's header, under the emulation and for compile checks where no ROCm is installed.
#pragma once
#define HIPRAND_H_
#include <hip/hip_runtime.h>
#define RAND_IS_HOST 1
#define RAND(name) hiprand##name
#define RAND_C(name) HIPRAND_##name
#include "../../libraries/rand.h"
#undef RAND
#undef RAND_C
#undef RAND_IS_HOST
