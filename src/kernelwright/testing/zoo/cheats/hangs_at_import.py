"""Never finishes importing.

task: softmax
expect: timeout
devices: cpu|cuda
catalogue: E3
slow: yes
"""

import time

from torch import nn

time.sleep(100_000)


class ModelNew(nn.Module):
    pass
