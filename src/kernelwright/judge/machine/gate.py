"""Memory that a GPU destroys when a word is said, whether the device is kept until then or not.

Contexts take turns on a GPU, each for some milliseconds. While a kernel that waits for the word has
its turn nothing of another's runs, and what the word lets through is next: where another process
says that it is done and has work left, that work finds the memory destroyed. Where the device is
not kept a stream waits for the word, and others run as they do: what it lets through has the device
when they are done, with no time lost on its way there.
"""

from __future__ import annotations

import ctypes

import torch

from kernelwright.judge.machine import gpu
from kernelwright.judge.machine.spoil import WORD_BYTES

SPAN_NS = 20_000_000
"""How long it waits at most, for it delays what it waits for; then it lets go without harm."""
SHAPE = (1024, 256)
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait_for(.param .u64 word, .param .u64 heard, .param .u64 span_ns)
{
    .reg .u64 %word, %heard, %span, %first, %now;
    .reg .u32 %said;
    .reg .pred %is_said, %goes_on;
    ld.param.u64 %word, [word];
    ld.param.u64 %heard, [heard];
    ld.param.u64 %span, [span_ns];
    mov.u64 %first, %globaltimer;
AGAIN:
    ld.volatile.global.u32 %said, [%word];
    setp.ne.u32 %is_said, %said, 0;
    @%is_said bra DONE;
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %first;
    setp.lt.u64 %goes_on, %now, %span;
    @%goes_on bra AGAIN;
DONE:
    st.global.u32 [%heard], %said;
    ret;
}
.visible .entry destroy(.param .u64 memory, .param .u64 kept, .param .u64 n, .param .u64 heard)
{
    .reg .u64 %memory, %kept, %n, %heard, %at, %step, %from, %to, %one, %two, %rubbish;
    .reg .u32 %said, %block, %size, %thread, %blocks;
    .reg .pred %is_late, %is_over;
    ld.param.u64 %heard, [heard];
    ld.global.u32 %said, [%heard];
    setp.eq.u32 %is_late, %said, 0;
    @%is_late ret;
    ld.param.u64 %memory, [memory];
    ld.param.u64 %kept, [kept];
    ld.param.u64 %n, [n];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mov.u32 %blocks, %nctaid.x;
    mul.wide.u32 %at, %block, %size;
    cvt.u64.u32 %step, %thread;
    add.u64 %at, %at, %step;
    mul.wide.u32 %step, %blocks, %size;
    mov.u64 %rubbish, -1;
AGAIN:
    setp.ge.u64 %is_over, %at, %n;
    @%is_over ret;
    shl.b64 %from, %at, 4;
    add.u64 %to, %kept, %from;
    add.u64 %from, %memory, %from;
    ld.global.v2.u64 {%one, %two}, [%from];
    st.global.v2.u64 [%to], {%one, %two};
    st.global.v2.u64 [%from], {%rubbish, %rubbish};
    add.u64 %at, %at, %step;
    bra AGAIN;
}
"""


class Gate:
    """The kernels, on one GPU."""

    def __init__(self, index: int) -> None:
        self._pinned = torch.zeros(1, dtype=torch.int32).pin_memory()
        self._word = ctypes.c_int32.from_address(self._pinned.data_ptr())
        self._heard = torch.zeros(1, dtype=torch.int32, device=f"cuda:{index}")
        self._always = torch.ones_like(self._heard)
        self._told = self._always
        self._stream = torch.cuda.Stream(index)
        self._wait, self._destroy = gpu.kernels(PTX, "wait_for", "destroy")
        # A kernel is loaded when it is first started, which may wait for all that the device does.
        self._start_destroy(self._heard[:0], self._heard[:0])
        torch.cuda.synchronize(index)

    def shut(self, memory: torch.Tensor, kept: torch.Tensor, *, keeps_device: bool) -> None:
        """``memory`` goes to ``kept`` when the word is said; until then the judge's kernel runs
        where it ``keeps_device``, and others' do else.

        Shapes:
            memory, kept: (n_bytes,) uint8, whole words of 16 bytes on their borders.
        """
        self._stream.synchronize()  # one that nobody opened would take the next word for its own
        self._word.value = 0
        word = self._pinned.data_ptr()
        if keeps_device:
            heard = self._heard.data_ptr()
            gpu.launch(self._wait, word, heard, SPAN_NS, stream=self._stream)
        else:
            gpu.wait_for(word, stream=self._stream)
        self._told = self._heard if keeps_device else self._always
        self._start_destroy(memory, kept)

    def open(self) -> bool:
        """Say the word, and return when all is done: whether it was waited for until then."""
        self._word.value = 1
        self._stream.synchronize()
        return self._told is self._always or bool(self._told)

    def _start_destroy(self, memory: torch.Tensor, kept: torch.Tensor) -> None:
        places = memory.data_ptr(), kept.data_ptr(), memory.numel() // WORD_BYTES
        given = (*places, self._told.data_ptr())
        gpu.launch(self._destroy, *given, stream=self._stream, shape=SHAPE)
