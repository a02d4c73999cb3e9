#pragma once
#include "hipfft.h"
