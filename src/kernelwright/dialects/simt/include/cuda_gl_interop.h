// OpenGL's side of the runtime: declared nowhere here, for programs that include it and do not use it.
#pragma once
#include "cuda_runtime.h"
