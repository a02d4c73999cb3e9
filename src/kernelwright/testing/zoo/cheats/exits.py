"""Leaves with exit code 0 while it is imported.

task: softmax
expect: build_error|runtime_error
devices: cpu|cuda
catalogue: T6
"""

import os

os._exit(0)
