// What AMD's header of this name declares, under the emulation and where no ROCm is installed.
#pragma once
#include <hip/hip_runtime.h>
#include "../../simt/groups.h"
