// For compile checks where no ROCm is installed: what AMD's header of this name declares.
#pragma once
#include <hip/hip_runtime.h>
#include "../../simt/groups.h"
