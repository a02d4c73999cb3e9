"""Judging on an NVIDIA GPU: how the judge shares one with its children, and watches it."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections.abc import Callable

import torch

from kernelwright.core.device import BUILT_TOGETHER, Device
from kernelwright.judge.devices import cuda_driver, nvml
from kernelwright.judge.devices.cpu import CpuBackend
from kernelwright.judge.devices.cuda_driver import unit
from kernelwright.judge.devices.input_poisoner import WORD_BYTES, InputPoisoner
from kernelwright.judge.refusal import memory_apart

VISIBLE = "CUDA_VISIBLE_DEVICES"
N_PROBES, AT_ONCE_S = 8, 0.5e-3
"""Small kernels, and the time in which each is done on an idle device: on an H200 one takes
0.03 ms, and 0.2 ms after another process's turn."""
PROBE_NS, PAUSE_NS = 5_000_000, 50_000
"""The duration of the probe for others' work: longer than a process's turn, after which the GPU
changes to another's work, for up to 2.4 ms on an H100. And the pause that tells of it: where nobody
else had any work, the probe stood still for 64 ns at most."""
RECENT_S = 2.0
"""The driver samples several times a second which processes the device works for."""
MOST_JUDGES = 5
"""On all GPUs together that a process sees. A host makes about three CUDA contexts a second,
however many processes ask for one: more judges wait longer."""
CACHE_SHARE = 0.03
"""The share of a GPU's memory that the judge's allocator may cache: children need the rest."""
HOLD_NS = 20_000_000
"""The device is released after this time, for holding it delays the call; then nothing is
overwritten."""
GRID = (1024, 256)


class GpuBackend(CpuBackend):
    """Device memory; the judge's and the child's contexts take turns.

    A child sees one GPU: kernels that it launches without naming a device go there, it has no
    memory on another, and its driver starts in 0.2 s instead of 0.9 (one of four H200s).
    """

    name_in_child = "cuda:0"
    reads_from_outside = False
    is_spinning = True
    times_windows = True
    compiles_elsewhere = True
    most_ahead = 2
    batch_size = BUILT_TOGETHER

    def __init__(self, device: Device) -> None:
        self.index = device.index
        self.most_judges = max(1, MOST_JUDGES // max(1, torch.cuda.device_count()))
        self.name = device.torch_name
        self.kind = self.name.partition(":")[0]
        self.unit = unit(self.index)
        self.visibility = {VISIBLE: visible_as(self.index)}

    def share(self, n_bytes: int) -> tuple[int, torch.Tensor]:
        self.trim_cache()
        return cuda_driver.share(n_bytes, self.index)

    def unshare(self, memory: torch.Tensor) -> None:
        cuda_driver.unmap(memory)

    def settle(self) -> None:
        torch.cuda.synchronize(self.index)

    def is_idle(self) -> bool:
        """True if a small kernel is done at once, time after time: another process's work would
        make it wait for its turn, some milliseconds."""
        for _ in range(N_PROBES):
            start_s = time.perf_counter()
            torch.zeros(1, device=self.name)
            torch.cuda.synchronize(self.index)
            if time.perf_counter() - start_s > AT_ONCE_S:
                return False
            time.sleep(AT_ONCE_S)
        return True

    def works_for(self, pid: int) -> bool:
        """True if the driver says so; False where it knows processes by other numbers than ours."""
        return nvml.works_for(self.index, pid, since_s=time.time() - RECENT_S)

    def works_for_others(self, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """True if a kernel of the judge's own is paused for long. It starts before ``meanwhile``:
        work that waits for that to be done finds the device idle for no moment."""
        self._probe.start(PROBE_NS)
        meanwhile()
        return self._probe.longest_ns() > PAUSE_NS

    def input_poisoner(
        self, inputs: torch.Tensor, *, is_exclusive: bool, holds_device: bool
    ) -> InputPoisoner:
        if not is_exclusive:
            return InputPoisoner(inputs, self.settle)
        return QueuedInputPoisoner(inputs, self._poison_kernels, holds_device=holds_device)

    @functools.cached_property
    def _probe(self) -> PauseProbe:
        return PauseProbe(self.index)

    @functools.cached_property
    def _poison_kernels(self) -> PoisonKernels:
        return PoisonKernels(self.index)

    def trim_cache(self) -> None:
        stats = torch.cuda.memory_stats_as_nested_dict(self.index)  # one call: before every call
        reserved, used = stats["reserved_bytes"], stats["allocated_bytes"]
        cached = reserved["all"]["current"] - used["all"]["current"]
        if cached > self.memory_bytes() * CACHE_SHARE:
            torch.cuda.empty_cache()

    def memory_bytes(self) -> int:
        return torch.cuda.get_device_properties(self.index).total_memory

    def free_bytes(self) -> int:
        try:
            with memory_apart():
                return torch.cuda.mem_get_info(self.index)[0]
        except MemoryError:
            return 0  # a context of the judge's own finds no room

    def last_level_cache_bytes(self) -> int:
        return int(torch.cuda.get_device_properties(self.index).L2_cache_size)


def visible_as(index: int) -> str:
    """The value of ``VISIBLE`` for a process that is to see this GPU alone."""
    seen = os.environ.get(VISIBLE)
    return seen.split(",")[index].strip() if seen else unit(index)


class PauseProbe:
    """A kernel that finds the longest time for which it stood still because the GPU worked for
    another process.

    Contexts take turns on a GPU. Work that waits gets its turn within some milliseconds, and
    changing to it and back takes a tenth of one: a kernel that reads the GPU's clock again and
    again sees that, however short the other's work is.
    """

    def __init__(self, index: int) -> None:
        self._longest = torch.zeros(1, dtype=torch.int64, device=f"cuda:{index}")
        self._stream = torch.cuda.Stream(index)
        [self._kernel] = cuda_driver.kernels(PTX, "longest_pause")

    def start(self, span_ns: int) -> None:
        """Start the kernel, which runs for so long, beside everything else that the judge does."""
        cuda_driver.launch(self._kernel, self._longest.data_ptr(), span_ns, stream=self._stream)

    def longest_ns(self) -> int:
        """The longest pause of the kernel that was started last; waits for its end."""
        self._stream.synchronize()
        return int(self._longest)


class PoisonKernels:
    """Kernels that wait in the device's queue for a word, and then overwrite memory.

    Contexts take turns on a GPU, each for some milliseconds. Where a kernel of the judge's holds
    the device until the word is written, nothing of another process runs before it, and the
    overwriting comes next: work that another process has left finds the memory overwritten. Where
    the device is not held, a stream waits for the word, others run as usual, and the overwriting
    starts when they are done, with no time lost on its way to the device.
    """

    def __init__(self, index: int) -> None:
        self._pinned = torch.zeros(1, dtype=torch.int32).pin_memory()
        self._word = ctypes.c_int32.from_address(self._pinned.data_ptr())
        self._released = torch.zeros(1, dtype=torch.int32, device=f"cuda:{index}")
        self._always = torch.ones_like(self._released)
        self._condition = self._always
        self._stream = torch.cuda.Stream(index)
        self._wait, self._poison = cuda_driver.kernels(PTX, "wait_for_completion", "poison")
        # A kernel is loaded when it is first started, which may wait for all that the device does.
        self._start_poisoning(self._released[:0], self._released[:0])
        torch.cuda.synchronize(index)

    def enqueue(self, memory: torch.Tensor, kept: torch.Tensor, *, holds_device: bool) -> None:
        """Queue the overwriting of ``memory``, whose contents go to ``kept``. Until the word is
        written, the judge's kernel runs if it ``holds_device``, and others' kernels do otherwise.

        Shapes:
            memory, kept: (n_bytes,) uint8, aligned to 16 bytes and a multiple of them long.
        """
        self._stream.synchronize()  # an earlier one that still waits would take the next word
        self._word.value = 0
        word = self._pinned.data_ptr()
        if holds_device:
            released = self._released.data_ptr()
            cuda_driver.launch(self._wait, word, released, HOLD_NS, stream=self._stream)
        else:
            cuda_driver.wait_for(word, stream=self._stream)
        self._condition = self._released if holds_device else self._always
        self._start_poisoning(memory, kept)

    def release(self) -> bool:
        """Write the word and return when all is done; False if the device was released before,
        because HOLD_NS had passed: then nothing was overwritten."""
        self._word.value = 1
        self._stream.synchronize()
        return self._condition is self._always or bool(self._condition)

    def _start_poisoning(self, memory: torch.Tensor, kept: torch.Tensor) -> None:
        addresses = memory.data_ptr(), kept.data_ptr(), memory.numel() // WORD_BYTES
        arguments = (*addresses, self._condition.data_ptr())
        cuda_driver.launch(self._poison, *arguments, stream=self._stream, shape=GRID)


class QueuedInputPoisoner(InputPoisoner):
    """One that a GPU runs by itself as soon as the child signals completion.

    Only for a judge that has the device exclusively: a process that waits for all of the device's
    work waits for this, too.

    Source:
        Measured on an H200: of the work that a child has still running when it answers, all but
        10 µs delay this; 50 µs are missed where the overwriting is started at the answer.
    """

    def __init__(self, inputs: torch.Tensor, kernels: PoisonKernels, *, holds_device: bool) -> None:
        super().__init__(inputs)
        self._kernels, self._holds_device = kernels, holds_device
        self._is_released = False

    def __enter__(self) -> InputPoisoner:
        self._kernels.enqueue(self._window, self._kept, holds_device=self._holds_device)
        return self

    def __call__(self) -> None:
        self._is_released = True
        self._is_kept = self._kernels.release()

    def __exit__(self, *_: object) -> None:
        if not self._is_released:  # the child never signalled; the device would wait for ever
            self()
        super().__exit__()


PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait_for_completion(.param .u64 word, .param .u64 released, .param .u64 span_ns)
{
    .reg .u64 %word, %released, %span, %first, %now;
    .reg .u32 %value;
    .reg .pred %is_set, %goes_on;
    ld.param.u64 %word, [word];
    ld.param.u64 %released, [released];
    ld.param.u64 %span, [span_ns];
    mov.u64 %first, %globaltimer;
AGAIN:
    ld.volatile.global.u32 %value, [%word];
    setp.ne.u32 %is_set, %value, 0;
    @%is_set bra DONE;
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %first;
    setp.lt.u64 %goes_on, %now, %span;
    @%goes_on bra AGAIN;
DONE:
    st.global.u32 [%released], %value;
    ret;
}
.visible .entry poison(.param .u64 memory, .param .u64 kept, .param .u64 n, .param .u64 released)
{
    .reg .u64 %memory, %kept, %n, %released, %at, %step, %from, %to, %one, %two, %poison;
    .reg .u32 %value, %block, %size, %thread, %blocks;
    .reg .pred %is_late, %is_over;
    ld.param.u64 %released, [released];
    ld.global.u32 %value, [%released];
    setp.eq.u32 %is_late, %value, 0;
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
    mov.u64 %poison, -1;
AGAIN:
    setp.ge.u64 %is_over, %at, %n;
    @%is_over ret;
    shl.b64 %from, %at, 4;
    add.u64 %to, %kept, %from;
    add.u64 %from, %memory, %from;
    ld.global.v2.u64 {%one, %two}, [%from];
    st.global.v2.u64 [%to], {%one, %two};
    st.global.v2.u64 [%from], {%poison, %poison};
    add.u64 %at, %at, %step;
    bra AGAIN;
}
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
