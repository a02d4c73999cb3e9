"""Launches of loop nests past Triton's own look at every argument.

Triton decides at each launch, from all arguments, whether it has compiled the kernel for such ones.
That takes 10 to 30 us of Python, more than many a kernel runs. What can differ between launches of
an emitted file is little: whether memory is aligned, and what Triton knows of sizes. By that a
compiled kernel is found again here, and run as Triton runs it.

Source:
    triton/runtime/jit.py (JITFunction.run, native_specialize_impl), of Triton 3.6 and 3.9.
"""

from __future__ import annotations

NAME = "launch_kernel"
LAUNCH = '''\
COMPILED = {}  # a kernel, and what it is compiled anew for → how it is run


def launch_kernel(kernel, n_programs, *given, **options):
    """Launch a kernel on tensors and sizes: past Triton's look at every argument, which takes
    longer than small kernels do, where the same was launched before."""
    if not given[0].is_cuda:
        return kernel[(n_programs,)](*given, **options)
    device = torch._C._cuda_getDevice()
    facts = [
        (x == 1, x % 16 == 0, x < 2**31) if isinstance(x, int) else x.data_ptr() % 16 == 0
        for x in given
    ]
    key = (kernel.__name__, device, *options.values(), *facts)
    found = COMPILED.get(key)
    if found is None:
        compiled = kernel[(n_programs,)](*given, **options)
        if compiled is not None:
            if len(COMPILED) >= 1000:  # sizes that are free may never come again
                COMPILED.clear()
            constants = [options[name] for name in kernel.arg_names[len(given) :]]
            COMPILED[key] = compiled.run, compiled.function, compiled.packed_metadata, constants
        return
    run, function, metadata, constants = found
    stream = torch._C._cuda_getCurrentRawStream(device)
    hooks = None, None, None  # of launches: profilers see kernels without them
    run(n_programs, 1, 1, stream, function, metadata, *hooks, *given, *constants)
'''
"""The function by which an emitted file launches a loop nest's kernel."""
