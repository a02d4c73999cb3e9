"""System calls that Python 3.11 does not wrap, each as one function that raises OSError if the
kernel refuses. Linux only."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

# include/uapi/linux/sched.h
NEW_NAMESPACE = {
    "mount": 0x00020000,
    "hostname": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
# include/uapi/linux/mount.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
SYS_MOUNT_SETATTR = 442
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1  # include/uapi/linux/keyctl.h
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
# include/uapi/linux/prctl.h
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
CAPABILITY_VERSION_3 = 0x20080522  # include/uapi/linux/capability.h
LAST_CAPABILITY = 40
CHOWN, KILL, SETGID, SETUID, SYS_PTRACE = (1 << number for number in (0, 5, 6, 7, 19))


def unshare(*names: str) -> None:
    """Enter new namespaces; 'pid' takes effect for the next child."""
    _check(_libc.unshare(sum(NEW_NAMESPACE[name] for name in names)), f"unshare {names}")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2)."""
    names = [None if name is None else name.encode() for name in (source, target, kind)]
    result = _libc.mount(*names, ctypes.c_ulong(flags), data.encode())
    _check(result, f"mount {source} on {target}")


def make_read_only(target: str) -> None:
    """Make a mount and all below it read-only and without set-user-id programs; a kernel before
    5.12 refuses."""
    attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    path = target.encode()
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, path, AT_RECURSIVE, attributes, len(attributes))


def pivot_root(new_root: str) -> None:
    """Make ``new_root`` the root and drop the old one."""
    os.chdir(new_root)
    syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b".")
    _check(_libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """syscall(2)."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    _check(min(result, 0), f"system call {number}")
    return result


def prctl(option: int, argument: int, second: int = 0) -> None:
    """prctl(2)."""
    words = [ctypes.c_ulong(word) for word in (argument, second, 0, 0)]
    _check(_libc.prctl(ctypes.c_int(option), *words), f"prctl {option}")


def capabilities() -> int:
    """The capabilities that this process has now, a bit for each."""
    _, found = Path("/proc/self/status").read_text(errors="replace").split("CapEff:")
    return int(found.split()[0], 16)


def forswear_capabilities() -> None:
    """Give up ever having a capability again; works only while this process has them."""
    for capability in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)


def drop_capabilities() -> None:
    """Give up every capability, for this process and what it executes."""
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, struct.pack("6I", *[0] * 6)), "capset")


def leave_keyrings() -> None:
    """Join a fresh session keyring, so that the user's keys are out of reach."""
    syscall(SYS_KEYCTL[os.uname().machine], KEYCTL_JOIN_SESSION_KEYRING, None)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("n_bytes", ctypes.c_size_t))


_libc.process_vm_readv.restype = ctypes.c_ssize_t
_libc.process_vm_readv.argtypes = (
    ctypes.c_int,
    ctypes.POINTER(_Span),
    ctypes.c_ulong,
    ctypes.POINTER(_Span),
    ctypes.c_ulong,
    ctypes.c_ulong,
)


def read_process(pid: int, address: int, into: int, n_bytes: int) -> None:
    """Copy ``n_bytes`` at ``address`` of another process to ``into`` of this one."""
    done = 0
    while done < n_bytes:
        local = _Span(into + done, n_bytes - done)
        remote = _Span(address + done, n_bytes - done)
        got = _libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        _check(0 if got > 0 else -1, "process_vm_readv")
        done += got


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
