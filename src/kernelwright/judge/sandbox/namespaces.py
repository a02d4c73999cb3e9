"""New namespaces for a candidate's process, and the root file system that is built in them.

Root (with CAP_SYS_ADMIN) makes them directly, an ordinary user inside a user namespace. The root
file system is an allow-list: the system's programs and libraries, Python and torch, all read-only,
and writable folders in memory.

Source:
    netdevice(7), linux/sockios.h and linux/if.h for the loopback interface.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.judge.sandbox import isolation
from kernelwright.judge.sandbox import kernel_calls as kernel

SETS_THE_KERNEL = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Parts of ``/proc`` that root may write to without any capability; they set the whole machine."""
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
_can_build: dict[frozenset[str], bool] = {}
"""True if a root file system can be built here, for each set of namespaces to do without."""


@dataclass(frozen=True)
class Entered:
    """Which namespaces a process has entered, and whether through a user namespace."""

    granted: frozenset[str] = frozenset()
    in_user_namespace: bool = False


def attainable(plan: isolation.Plan) -> isolation.Plan:
    """``plan``, without a root file system and a process namespace if this machine refuses them.

    A machine may grant namespaces and deny the mounts that make them useful: AppArmor denies a
    container all mounts, and the kernel denies a new /proc where parts of the old one are hidden;
    in a new process namespace the old one is of no use. This is tried once in each process.
    """
    refuse = plan.options.refuse
    if "filesystem" not in refuse:
        if refuse not in _can_build:
            _can_build[refuse] = _try_to_build(plan)
        if _can_build[refuse]:
            return plan
    refuse |= {"processes", "filesystem"}
    return replace(plan, options=replace(plan.options, refuse=refuse))


def _try_to_build(plan: isolation.Plan) -> bool:
    """True if a process can enter these namespaces and build a root there; tried in a fork."""
    done, tell = os.pipe()
    if os.fork() == 0:
        try:
            if "filesystem" in enter_namespaces(plan).granted and os.fork() == 0:
                build_root(plan)
                os.write(tell, b"+")
        finally:
            os._exit(0)
    os.close(tell)
    try:
        return os.read(done, 1) == b"+"
    finally:
        os.close(done)


def enter_namespaces(plan: isolation.Plan) -> Entered:
    """Enter new namespaces in the calling process.

    Its next child is the first process of a new process namespace, if 'processes' was granted.
    """
    wanted = {"processes": ("pid", "ipc"), "network": ("net",), "filesystem": ("mount",)}
    granted = {name for name in wanted if name not in plan.options.refuse}
    names = [n for g in granted for n in wanted[g]]
    is_root = os.geteuid() == 0
    for route in ((), ("user",)) if is_root else (("user",),):
        try:
            uid, gid = os.geteuid(), os.getegid()
            kernel.unshare(*route, *names)
        except OSError:
            continue
        if "network" in granted and plan.options.on_gpu:
            with contextlib.suppress(OSError):
                bring_up_loopback()
        if route:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
            Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        return Entered(frozenset(granted), bool(route))
    return Entered()


def build_root(plan: isolation.Plan) -> None:
    """Move the calling process into a fresh, read-only root with a scratch folder.

    Raises:
        OSError: this machine does not allow it.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", plan.folder, "tmpfs", kernel.MS_NOSUID, "size=16m,mode=0755")
    # Paths are relative to it from here on: a judge that ends removes the folder, and its mounts go
    # with it. By an absolute path the folder would be made anew, outside.
    os.chdir(plan.folder)
    # First what is writable: Python itself may lie under the scratch, in /tmp.
    for folder in isolation.IN_MEMORY:
        os.makedirs(f".{folder}")
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        most = f"size={isolation.SCRATCH_BYTES},nr_inodes={isolation.N_SCRATCH_FILES}"
        kernel.mount("tmpfs", f".{folder}", "tmpfs", flags, f"{most},mode=1777")
    if plan.is_trusted:
        kernel.mount(plan.scratch, f".{isolation.SCRATCH}", None, kernel.MS_BIND)
    for folder in (*isolation.SYSTEM, *plan.visible):
        _show(folder)
    os.makedirs("./etc")
    for name in isolation.ETC:
        _show("/etc/" + name)
    _show("/sys")
    gpus = [p.name for p in Path("/dev").glob("nvidia*") if not p.is_dir()]
    for name in (*isolation.DEVICES, *gpus):
        _show_device("/dev/" + name)
    os.makedirs("./proc")
    kernel.mount("proc", "./proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
    for at in (f"./proc/{name}" for name in SETS_THE_KERNEL):
        if os.path.exists(at):
            kernel.mount(at, at, None, kernel.MS_BIND)
            kernel.make_read_only(at)
    remount = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID
    kernel.mount(None, ".", None, remount)
    kernel.pivot_root(".")


def _show(path: str) -> None:
    """Mount a file or folder of the old root read-only in the new one, the working folder."""
    if os.path.islink(path) and path in isolation.SYSTEM:
        os.symlink(os.readlink(path), f".{path}")
        return
    if not os.path.exists(path):
        return
    target = f".{path}"
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    kernel.mount(path, target, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.make_read_only(target)


def _show_device(path: str) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISCHR(os.stat(path).st_mode):
            Path(f".{path}").touch()
            kernel.mount(path, f".{path}", None, kernel.MS_BIND)


def bring_up_loopback() -> None:
    """Bring up ``lo`` in the network namespace of the calling process, so that programs inside it
    can talk to each other, and to no others.

    Raises:
        OSError: the process has no right to.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
