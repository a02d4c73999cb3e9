// Launches of loaded objects.
#pragma once
#include <memory>

#include "machine.h"

namespace isa {

constexpr u64 HANG_TURNS = 20000;  // turns of all resident waves in which none ends or waits

void run_grid(Launch&);

}  // namespace isa
