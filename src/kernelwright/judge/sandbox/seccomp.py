"""A filter on system calls: those that no candidate needs fail with EPERM.

Source:
    seccomp(2), include/uapi/linux/filter.h and audit.h; numbers from each architecture's table.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence

from kernelwright.judge.sandbox import kernel_calls as kernel

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Opcodes of BPF, filter.h."""
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # struct seccomp_data
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000  # SECCOMP_RET_*
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
AF_UNIX = 1
X32_CALLS = 0x40000000
"""Numbers from here on are x86-64's other table of the same calls."""
MACHINES = ("x86_64", "aarch64")
"""The columns of the tables below."""
ARCHITECTURE = (0xC000003E, 0xC00000B7)
SOCKET, CLONE, CLONE3 = (41, 198), (56, 220), (435, 435)
CLONE_FILES, CLONE_THREAD = 0x400, 0x10000


def _table(text: str) -> dict[str, tuple[int, int]]:
    """Numbers of calls by name, a column for each machine."""
    rows = (row.split() for row in text.split(","))
    return {name: (int(one), int(other)) for name, one, other in rows}


DENIED = _table("""
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, pidfd_getfd 438 438,
    kcmp 312 272, perf_event_open 298 241, bpf 321 280, userfaultfd 323 282, syslog 103 116,
    keyctl 250 219, add_key 248 217, request_key 249 218, mount 165 40, umount2 166 39,
    pivot_root 155 41, move_mount 429 429, open_tree 428 428, fsopen 430 430, unshare 272 97,
    setns 308 268, open_by_handle_at 304 265, init_module 175 105, finit_module 313 273,
    delete_module 176 106, kexec_load 246 104, reboot 169 142, swapon 167 224, acct 163 89,
    settimeofday 164 170, clock_settime 227 112, io_uring_setup 425 425, io_uring_enter 426 426,
    io_setup 206 0, timer_create 222 107, mq_notify 244 184, timerfd_create 283 85,
    setitimer 38 103, alarm 37 103, memfd_secret 447 447, shmget 29 194,
    landlock_create_ruleset 444 444, semget 64 190, msgget 68 186, mq_open 240 180
""")
"""The last six make memory that nobody sees or counts: one set of Landlock's rules takes 5 MB, and
semaphores, which outlive their process, may take 64 GB. Those before, from io_setup on, make the
kernel work unasked: a signal wakes a stopped process; a timer that half a million items of epoll
wait for takes a core from a process that is timed; requests of io_setup go on, and all programs of
a machine share 65,536 of them. (On aarch64 an alarm is an interval timer.)"""
SECOND, THIRD = FIRST_ARGUMENT_AT + 8, FIRST_ARGUMENT_AT + 16
DENIED_WITH = {
    # Any of CLONE_NEW*: in a user namespace of its own a process has every capability. Any signal
    # at its end but SIGCHLD: SIGCONT wakes a stopped process.
    "clone": (CLONE, FIRST_ARGUMENT_AT, JUMP_ANY_BIT, (0x7E0200EE,)),
    "prctl": ((157, 167), SECOND, JUMP_EQUAL, (18,)),  # PR_SET_PDEATHSIG with SIGCONT, likewise
    # CLOSE_RANGE_UNSHARE, like a thread without CLONE_FILES, opens files that nobody counts.
    "close_range": ((436, 436), THIRD, JUMP_ANY_BIT, (2,)),
    "fcntl": ((72, 25), SECOND, JUMP_EQUAL, (10,)),  # F_SETSIG, as timer_create
    # SO_SNDBUF and SO_RCVBUF, on any level: megabytes in each socket that are no process's memory.
    "setsockopt": ((54, 208), THIRD, JUMP_EQUAL, (7, 8)),
}
"""Calls that are denied with some values of an argument: its offset, and how it is compared."""
PLACING = {"sched_setaffinity": (203, 122)}
"""The call by which a process may use more cores than it was given."""
BESIDE_OPENING = _table("""
    chmod 90 53, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 54, fchown 93 55,
    lchown 94 54, fchownat 260 54, utime 132 88, utimes 235 88, futimesat 261 88,
    utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, setxattrat 463 463,
    removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, removexattrat 466 466,
    file_setattr 469 469
""")
"""Changes of a file's rights, owner, times and attributes, which its owner may make without opening
it for writing: Landlock does not restrict them."""
REACHING = {"socket": SOCKET, "connect": (42, 203)}
REACHING_WITH = {"socketpair": ((53, 199), SECOND, JUMP_ANY_BIT, (2,))}
"""Calls that lead to servers whose sockets lie in folders, which Landlock does not restrict either.
Of socket pairs only those that send datagrams (SOCK_DGRAM, SOCK_RAW) reach one: sendto(2)."""

SLOWING = _table("""
    setpriority 141 140, ioprio_set 251 30, sched_setparam 142 118, sched_setscheduler 144 119,
    sched_setattr 314 274
""")
"""Calls that make processes of the same user run later than others, or only now and then."""
SLOWING_ANOTHER = {
    name: (numbers, FIRST_ARGUMENT_AT, JUMP_AT_LEAST, (1,))
    for name, numbers in {**PLACING, "prlimit64": (302, 261)}.items()
}
"""Calls that a process may make for itself, process number 0, and for no other."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install(
    *,
    only_local_sockets: bool,
    keeps_cores: bool = False,
    keeps_rights: bool = False,
    keeps_to_itself: bool = False,
    slows_nobody: bool = False,
) -> None:
    """Filter the system calls of this process and its descendants, for good.

    ``only_local_sockets``: it opens Unix sockets only, which also stands in for a network
    namespace. ``keeps_cores``: it stays on the cores that it is given. ``keeps_rights``: it changes
    files only by writing to them. ``keeps_to_itself``: it calls no server. ``slows_nobody``: it
    changes no process's priority, and no other process's cores and limits.

    Raises:
        OSError: the kernel refuses, or the processor's calls are not known here.
    """
    denied = DENIED | (PLACING if keeps_cores else {}) | (BESIDE_OPENING if keeps_rights else {})
    denied_with = dict(DENIED_WITH)
    if slows_nobody:
        denied, denied_with = denied | SLOWING, denied_with | SLOWING_ANOTHER
    if keeps_to_itself:
        denied, denied_with = denied | REACHING, denied_with | REACHING_WITH
    code = b"".join(_instructions(denied, denied_with, only_local_sockets))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _instructions(
    denied: Mapping[str, tuple[int, int]],
    denied_with: Mapping[str, tuple[tuple[int, int], int, int, tuple[int, ...]]],
    only_local_sockets: bool,
) -> list[bytes]:
    machine = os.uname().machine
    if machine not in MACHINES:
        raise OSError(f"no table of system calls for {machine}")
    column = MACHINES.index(machine)
    code = [
        _one(LOAD, ARCHITECTURE_AT),
        _one(JUMP_EQUAL, ARCHITECTURE[column], if_true=1),
        _one(RETURN, KILL),
        _one(LOAD, NUMBER_AT),
        _one(JUMP_AT_LEAST, X32_CALLS, if_false=1),
        _one(RETURN, ERROR | EPERM),
    ]
    for numbers in denied.values():
        code += [_one(JUMP_EQUAL, numbers[column], if_false=1), _one(RETURN, ERROR | EPERM)]
    # Its flags lie in memory, where no filter sees them; the C library does without this call.
    code += [_one(JUMP_EQUAL, CLONE3[column], if_false=1), _one(RETURN, ERROR | ENOSYS)]
    for numbers, at, comparison, values in denied_with.values():
        code += _deny_with(numbers[column], at, comparison, values)
    code += [
        _one(JUMP_EQUAL, CLONE[column], if_false=5),
        _one(LOAD, FIRST_ARGUMENT_AT),
        _one(JUMP_ANY_BIT, CLONE_THREAD, if_false=2),
        _one(JUMP_ANY_BIT, CLONE_FILES, if_true=1),
        _one(RETURN, ERROR | EPERM),
        _one(LOAD, NUMBER_AT),
    ]
    if only_local_sockets:
        code += [
            _one(JUMP_EQUAL, SOCKET[column], if_false=3),
            _one(LOAD, FIRST_ARGUMENT_AT),
            _one(JUMP_EQUAL, AF_UNIX, if_true=1),
            _one(RETURN, ERROR | EAFNOSUPPORT),
        ]
    return [*code, _one(RETURN, ALLOW)]


def _deny_with(number: int, at: int, comparison: int, values: Sequence[int]) -> list[bytes]:
    """Deny a call with one of these ``values`` in the lower half of the argument at an offset."""
    tests = [
        _one(comparison, value, if_true=left, if_false=0 if left else 1)
        for left, value in zip(reversed(range(len(values))), values, strict=True)
    ]
    return [
        _one(JUMP_EQUAL, number, if_false=len(tests) + 3),
        _one(LOAD, at),
        *tests,
        _one(RETURN, ERROR | EPERM),
        _one(LOAD, NUMBER_AT),
    ]


def _one(operation: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, operand)
