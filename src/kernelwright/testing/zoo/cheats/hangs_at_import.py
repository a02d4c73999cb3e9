"""Never finishes importing.

task: softmax
expect: timeout
devices: cpu|cuda
catalogue: E3
slow: yes
"""

import time

time.sleep(100_000)
