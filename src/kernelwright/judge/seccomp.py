"""A filter on system calls: what no kernel candidate needs fails with EPERM.

Source:
    seccomp(2), include/uapi/linux/filter.h and audit.h; numbers from each architecture's table.
"""

from __future__ import annotations

import ctypes
import os
import struct

from kernelwright.judge import kernel_calls as kernel

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF opcodes, filter.h
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # struct seccomp_data
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000  # SECCOMP_RET_*
EPERM, EAFNOSUPPORT = 1, 97
AF_UNIX = 1
X32_CALLS = 0x40000000
"""Numbers from here on are x86-64's other table of the same calls."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SOCKET = {"x86_64": 41, "aarch64": 198}
DENIED = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438,
        "kcmp": 312, "perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "syslog": 103,
        "keyctl": 250, "add_key": 248, "request_key": 249, "mount": 165, "umount2": 166,
        "pivot_root": 155, "move_mount": 429, "open_tree": 428, "fsopen": 430, "unshare": 272,
        "setns": 308, "open_by_handle_at": 304, "init_module": 175, "finit_module": 313,
        "delete_module": 176, "kexec_load": 246, "reboot": 169, "swapon": 167, "acct": 163,
        "settimeofday": 164, "clock_settime": 227, "io_uring_setup": 425, "io_uring_enter": 426,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438,
        "kcmp": 272, "perf_event_open": 241, "bpf": 280, "userfaultfd": 282, "syslog": 116,
        "keyctl": 219, "add_key": 217, "request_key": 218, "mount": 40, "umount2": 39,
        "pivot_root": 41, "move_mount": 429, "open_tree": 428, "fsopen": 430, "unshare": 97,
        "setns": 268, "open_by_handle_at": 265, "init_module": 105, "finit_module": 273,
        "delete_module": 106, "kexec_load": 104, "reboot": 142, "swapon": 224, "acct": 89,
        "settimeofday": 170, "clock_settime": 112, "io_uring_setup": 425, "io_uring_enter": 426,
    },
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install(*, only_local_sockets: bool) -> None:
    """Filter the calls of this process and all that it starts, for good.

    With ``only_local_sockets`` it can open no socket but Unix ones, which is what is left of
    "no network" where network namespaces are refused.

    Raises:
        OSError: the kernel refuses, or the processor's calls are not known here.
    """
    code = b"".join(_instructions(only_local_sockets))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _instructions(only_local_sockets: bool) -> list[bytes]:
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(f"no table of system calls for {machine}")
    code = [
        _one(LOAD, ARCHITECTURE_AT),
        _one(JUMP_EQUAL, ARCHITECTURES[machine], if_true=1),
        _one(RETURN, KILL),
        _one(LOAD, NUMBER_AT),
        _one(JUMP_AT_LEAST, X32_CALLS, if_false=1),
        _one(RETURN, ERROR | EPERM),
    ]
    for number in DENIED[machine].values():
        code += [_one(JUMP_EQUAL, number, if_false=1), _one(RETURN, ERROR | EPERM)]
    if only_local_sockets:
        code += [
            _one(JUMP_EQUAL, SOCKET[machine], if_false=3),
            _one(LOAD, FIRST_ARGUMENT_AT),
            _one(JUMP_EQUAL, AF_UNIX, if_true=1),
            _one(RETURN, ERROR | EAFNOSUPPORT),
        ]
    return [*code, _one(RETURN, ALLOW)]


def _one(operation: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, operand)
