#pragma once
#include "../../libraries/thrust.h"
