// Where no ROCm is installed: AMD's own declarations, under the name by which programs include them.
#pragma once
#include <hip/amd_detail/amd_hip_gl_interop.h>
