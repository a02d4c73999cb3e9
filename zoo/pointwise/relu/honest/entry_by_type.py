"""Makes its class by calling ``type``."""

import torch
from torch import nn

ModelNew = type("ModelNew", (nn.Module,), {"forward": lambda self, x: torch.relu(x)})
