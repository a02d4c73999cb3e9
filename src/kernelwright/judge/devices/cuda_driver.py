"""Calls of the CUDA driver: device memory that two processes share, and kernels in PTX.

CUDA's older handles (cudaIpcGetMemHandle) do not cross process namespaces. The virtual memory
calls export a file descriptor, which travels over a socket like any other.

Source:
    CUDA Driver API, section Virtual Memory Management; cuda.h for the layout of the structures.
"""

from __future__ import annotations

import ctypes
import functools
import os

import torch

from kernelwright.core.errors import DeviceError

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY, cuda.h
AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ, cuda.h
ON_EVERY_CONTEXT, MAPPED = 1, 2  # CU_MEMHOSTREGISTER_PORTABLE and _DEVICEMAP, cuda.h
PINNED, ON_DEVICE, FILE_DESCRIPTOR, READ_AND_WRITE = 1, 1, 1, 3  # enums of cuda.h


class _Location(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("index", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("handle_kinds", ctypes.c_int),
        ("location", _Location),
        ("win32_data", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("rights", ctypes.c_int))


class _Bytes:
    """Device memory under the interface that torch reads foreign arrays through."""

    def __init__(self, address: int, n_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (n_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def driver(name: str, *arguments: object) -> None:
    """Call the CUDA driver.

    Raises:
        DeviceError: the GPU has too little memory.
        RuntimeError: it reports another error.
    """
    code = getattr(_library(), name)(*arguments)
    if code == OUT_OF_MEMORY:
        raise DeviceError(
            "the GPU has too little memory for the candidate beside its baselines",
            seen=f"{name}: CUDA_ERROR_OUT_OF_MEMORY",
            do="use smaller inputs, or a GPU with more memory or fewer users",
        )
    if code != 0:
        raise RuntimeError(f"{name} fails with CUDA error {code}")


def kernels(code: bytes, *names: str) -> list[ctypes.c_void_p]:
    """The kernels of these names in PTX or machine code, in the calling thread's context."""
    module, found = ctypes.c_void_p(), []
    driver("cuModuleLoadData", ctypes.byref(module), code)
    for name in names:
        found.append(ctypes.c_void_p())
        driver("cuModuleGetFunction", ctypes.byref(found[-1]), module, name.encode())
    return found


def launch(
    kernel: ctypes.c_void_p,
    *arguments: int,
    stream: torch.cuda.Stream,
    shape: tuple[int, int] = (1, 1),
) -> None:
    """Start a kernel with arguments of 64 bits each; ``shape``: its blocks, and their threads."""
    words = [ctypes.c_uint64(word) for word in arguments]
    addresses = (ctypes.c_void_p * len(words))(*map(ctypes.addressof, words))
    blocks, threads, one = *map(ctypes.c_uint, shape), ctypes.c_uint(1)
    grid, shared = (blocks, one, one, threads, one, one), ctypes.c_uint(0)
    on = ctypes.c_void_p(stream.cuda_stream)
    driver("cuLaunchKernel", kernel, *grid, shared, on, addresses, None)


def wait_for(address: int, *, stream: torch.cuda.Stream) -> None:
    """Have a stream wait until the word of 32 bits at an address of pinned memory is 1 or more."""
    condition = ctypes.c_uint64(address), ctypes.c_uint32(1), ctypes.c_uint(AT_LEAST)
    driver("cuStreamWaitValue32_v2", ctypes.c_void_p(stream.cuda_stream), *condition)


def write(address: int, value: int, *, stream: torch.cuda.Stream) -> None:
    """Have a stream write a word of 32 bits to an address of pinned memory."""
    word = ctypes.c_uint64(address), ctypes.c_uint32(value), ctypes.c_uint(0)
    driver("cuStreamWriteValue32_v2", ctypes.c_void_p(stream.cuda_stream), *word)


def registered(address: int, n_bytes: int) -> int:
    """The address by which the device knows host memory, whole pages, which is pinned now."""
    memory, found = ctypes.c_void_p(address), ctypes.c_uint64()
    flags = ctypes.c_uint(ON_EVERY_CONTEXT | MAPPED)
    driver("cuMemHostRegister_v2", memory, ctypes.c_size_t(n_bytes), flags)
    driver("cuMemHostGetDevicePointer_v2", ctypes.byref(found), memory, ctypes.c_uint(0))
    return found.value


def unit(index: int) -> str:
    """The GPU's UUID, by which the driver and its management library know it."""
    return f"GPU-{torch.cuda.get_device_properties(index).uuid}"


def _rounded(n_bytes: int, index: int) -> tuple[int, _Properties]:
    properties = _Properties(PINNED, FILE_DESCRIPTOR, _Location(ON_DEVICE, index))
    unit = ctypes.c_size_t()
    driver("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(properties), 0)
    return max(1, -(-n_bytes // unit.value)) * unit.value, properties


def share(n_bytes: int, index: int) -> tuple[int, torch.Tensor]:
    """New device memory to share: a file descriptor for the child, and this side's bytes.

    Raises:
        RuntimeError: the driver refuses, for example for want of memory.
    """
    torch.cuda.init()
    torch.zeros(1, device=f"cuda:{index}")  # makes the context current in this thread
    size, properties = _rounded(n_bytes, index)
    handle, fd = ctypes.c_uint64(), ctypes.c_int()
    created = (ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(properties))
    driver("cuMemCreate", *created, ctypes.c_uint64(0))
    export = (ctypes.byref(fd), handle, FILE_DESCRIPTOR, ctypes.c_uint64(0))
    driver("cuMemExportToShareableHandle", *export)
    return fd.value, _map(handle, size, index)


def map_shared(fd: int, n_bytes: int, index: int) -> torch.Tensor:
    """The bytes of device memory that ``share`` made in another process.

    Raises:
        RuntimeError: the driver refuses.
    """
    torch.zeros(1, device=f"cuda:{index}")
    size, _ = _rounded(n_bytes, index)
    handle = ctypes.c_uint64()
    given = (ctypes.byref(handle), ctypes.c_void_p(fd), FILE_DESCRIPTOR)
    driver("cuMemImportFromShareableHandle", *given)
    os.close(fd)
    return _map(handle, size, index)


def _map(handle: ctypes.c_uint64, size: int, index: int) -> torch.Tensor:
    address, n_bytes = ctypes.c_uint64(), ctypes.c_size_t(size)
    zero, none = ctypes.c_size_t(0), ctypes.c_uint64(0)
    driver("cuMemAddressReserve", ctypes.byref(address), n_bytes, zero, none, none)
    driver("cuMemMap", address, n_bytes, zero, handle, none)
    access = _Access(_Location(ON_DEVICE, index), READ_AND_WRITE)
    driver("cuMemSetAccess", address, n_bytes, ctypes.byref(access), ctypes.c_size_t(1))
    # The handle may go: the mapping keeps the memory.
    driver("cuMemRelease", handle)
    return torch.as_tensor(_Bytes(address.value, size), device=f"cuda:{index}")


def unmap(memory: torch.Tensor) -> None:
    """Give memory of ``share`` back; no tensor in it may be used afterwards."""
    address, n_bytes = ctypes.c_uint64(memory.data_ptr()), ctypes.c_size_t(memory.numel())
    torch.cuda.synchronize(memory.device)
    driver("cuMemUnmap", address, n_bytes)
    driver("cuMemAddressFree", address, n_bytes)
