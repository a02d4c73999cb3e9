"""An emulator of AMD's instructions: code objects for gfx1100 (and gfx942) run on this CPU.

A code object is read once: its metadata by :mod:`kernelwright.isa.objects`, its instructions from
llvm-objdump's text by :mod:`kernelwright.isa.listing`. The result, a *listing*, is a text file that
the emulator (``runtime/``, C++) loads and interprets, one instruction of a whole wave at a time.

From Python::

    from kernelwright.isa import Emulator, listing_of

    machine = Emulator(listing_of(Path("code.o"), folder))
    machine.launch("kernel", grid=(4, 1, 1), block=(64, 1, 1), arguments=packed, lds_bytes=0)
    machine.executed("kernel")          # instructions, summed over waves

From C, with :func:`kernelwright.isa.library` linked, by ``runtime/isa.h``::

    void* object = isa_load(listing_path);              // null: see isa_error()
    isa_add_memory(pointer, bytes);                     // what kernels may access; host addresses
    isa_place_symbol(object, "counter", &counter);      // a __device__ variable lives at the host's
    unsigned grid[3] = {4, 1, 1}, block[3] = {64, 1, 1};
    int failed = isa_launch(object, "kernel", grid, block, dynamic_lds_bytes,
                            kernargs, kernarg_bytes, is_cooperative);
    isa_executed(object, "kernel");

``kernargs`` are the explicit arguments, each at the offset of its natural alignment, which is the
layout of HIP and of CUDA. Hidden arguments (block counts, sizes, LDS) are filled in from the
metadata. A launch that fails says why: "emulator gap" (an instruction that is not emulated; it is
never skipped), "wait" (a register is used before the wait for its load), "out-of-bounds", "trap",
"hang".
"""

from kernelwright.isa.listing import listing_of
from kernelwright.isa.machine import Emulator, LaunchError, isa_missing, library
from kernelwright.isa.objects import NoKernelsError

__all__ = [
    "Emulator",
    "LaunchError",
    "NoKernelsError",
    "isa_missing",
    "library",
    "listing_of",
]
