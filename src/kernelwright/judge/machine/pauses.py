"""How long one kernel of the judge's own stands still, because a GPU works for another process.

Contexts take turns on a GPU. Whose work waits there gets its share of time within some
milliseconds, and changing to it and back takes a tenth of one: a kernel that reads the GPU's clock
again and again sees that, however short the other's work is.
"""

from __future__ import annotations

import torch

from kernelwright.judge.machine import gpu

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry longest_pause(.param .u64 longest, .param .u64 span_ns)
{
    .reg .u64 %at, %span, %first, %last, %worst, %now, %since;
    .reg .pred %goes_on;
    ld.param.u64 %at, [longest];
    cvta.to.global.u64 %at, %at;
    ld.param.u64 %span, [span_ns];
    mov.u64 %first, %globaltimer;
    mov.u64 %last, %first;
    mov.u64 %worst, 0;
AGAIN:
    mov.u64 %now, %globaltimer;
    sub.u64 %since, %now, %last;
    max.u64 %worst, %worst, %since;
    mov.u64 %last, %now;
    sub.u64 %since, %now, %first;
    setp.lt.u64 %goes_on, %since, %span;
    @%goes_on bra AGAIN;
    st.global.u64 [%at], %worst;
    ret;
}
"""


class Pauses:
    """The kernel, on one GPU."""

    def __init__(self, index: int) -> None:
        self._longest = torch.zeros(1, dtype=torch.int64, device=f"cuda:{index}")
        self._stream = torch.cuda.Stream(index)
        [self._kernel] = gpu.kernels(PTX, "longest_pause")

    def start(self, span_ns: int) -> None:
        """Start the kernel, which runs for so long, beside what else the judge has to do."""
        gpu.launch(self._kernel, self._longest.data_ptr(), span_ns, stream=self._stream)

    def longest_ns(self) -> int:
        """The longest pause of the kernel that was started last; waits for its end."""
        self._stream.synchronize()
        return int(self._longest)
