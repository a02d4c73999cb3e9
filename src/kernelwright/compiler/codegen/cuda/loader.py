"""The lines of an emitted file that compile its CUDA text and launch its kernels.

torch.cuda._compile_kernel needs the CUDA toolkit's headers on disk, compiles one kernel at a time
and rebuilds every argument at each launch. This loader needs only NVRTC and the driver, which come
with torch's wheels and the machine; it compiles the file's kernels together and passes pointers.
"""

from __future__ import annotations

IMPORTS = ("import ctypes", "import torch")

LOADER = '''\
class Kernels:
    """The kernels of a CUDA C++ text, compiled by NVRTC for the current GPU."""

    NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT

    def __init__(self, source, names):
        torch.cuda.current_stream().synchronize()  # makes the GPU's context
        nvrtc = ctypes.CDLL(f"libnvrtc.so.{torch.version.cuda.split('.')[0]}")
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.check(self.driver.cuCtxGetCurrent(ctypes.byref(self.context)))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        binary = self.compile(nvrtc, source)
        self.check(self.driver.cuModuleLoadData(ctypes.byref(module), binary))
        self.functions = {}
        for name in names:
            found = self.driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
            self.check(found)
            self.functions[name] = ctypes.c_void_p(function.value)

    def compile(self, nvrtc, source):
        major, minor = torch.cuda.get_device_capability()
        options = [f"--gpu-architecture=sm_{major}{minor}".encode(), b"--std=c++17"]
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), None, 0, None, None)
        array = (ctypes.c_char_p * len(options))(*options)
        if nvrtc.nvrtcCompileProgram(program, len(options), array):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.value.decode(errors="replace"))
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, binary)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return binary

    def check(self, status):
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"CUDA: {(text.value or b'unknown error').decode()}")

    def launch(self, name, blocks, threads, *given, together=False):
        """Run a kernel on the current stream; it gets tensors by their pointers, and sizes. Blocks
        that wait for each other run ``together``: CUDA refuses where not all of them can."""
        values = (x if isinstance(x, int) else x.data_ptr() for x in given)
        words = (ctypes.c_uint64 * len(given))(*values)  # an int is the lower half of its word
        first = ctypes.addressof(words)
        places = range(first, first + 8 * len(given), 8)
        arguments = (ctypes.c_void_p * len(given))(*places)
        current = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())  # as Triton asks
        stream = ctypes.c_void_p(current)
        across, down = threads
        sizes = (blocks, 1, 1, across, down, 1, 0)
        what = (self.functions[name], *sizes, stream, arguments, *(() if together else (None,)))
        run = self.driver.cuLaunchCooperativeKernel if together else self.driver.cuLaunchKernel
        status = run(*what)
        if status == self.NO_CONTEXT:  # a thread of autograd's has none before torch's first kernel
            self.check(self.driver.cuCtxSetCurrent(self.context))
            status = run(*what)
        self.check(status)


def aligned(tensor):
    """The tensor, or one like it in a copy of its memory if wide loads would not be aligned."""
    if tensor.data_ptr() % 16 == 0:
        return tensor
    n_spanned = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    own = tensor.as_strided((n_spanned,), (1,)).clone()
    return own.as_strided(tensor.shape, tensor.stride())


'''


def definitions(source: str, names: list[str]) -> str:
    """Return module-level text: the CUDA source, its loader, and the compiled kernels."""
    listed = ", ".join(f'"{name}"' for name in names)
    return f'SOURCE = r"""\n{source}"""\n\n\n{LOADER}KERNELS = Kernels(SOURCE, [{listed}])\n'
