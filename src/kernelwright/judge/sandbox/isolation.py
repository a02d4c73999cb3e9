"""Isolation of a candidate's process, with whatever this machine grants.

Root becomes a user that exists nowhere else; rights and system calls are given up for good. Where
namespaces are refused (`namespaces.py`) Landlock stands in, as far as the kernel has it, and the
verdict says what is missing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import site
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.core.errors import DeviceError
from kernelwright.core.places import SITES, holds_installed_packages, installed_by_name
from kernelwright.judge.sandbox import kernel_calls as kernel
from kernelwright.judge.sandbox import landlock, seccomp

MEMORY_SHARE = 0.6
"""The share of the machine's free memory that one child may take."""
SCRATCH_BYTES = FILE_BYTES = 2 << 30  # a C++ extension with torch's headers builds in 100 MB
N_FILES = 1024
"""Open files: data that waits in a socket, up to 0.2 MB in each, is no process's memory."""
SCRATCH = "/tmp"
"""The path of the scratch folder as the candidate sees it, when the file system is isolated."""
IN_MEMORY = (SCRATCH, "/dev/shm")
"""The writable folders then, each a file system of its own, in memory."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu")
ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "passwd", "group")
DEVICES = ("null", "zero", "full", "random", "urandom")
N_PROCESSES, POOLS = 512, 4
"""Processes and threads: compilers stay under 100 together, and torch, OpenMP, BLAS and a driver
each keep a pool of as many threads as there are cores."""
KEPT_VARIABLES = (
    *("LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),  # a GPU's number is one of this order
)
"""The only variables of the user's environment that a child sees, besides PATH."""
STEADY_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
"""glibc's malloc adapts to a process's history (mallopt(3)): whether a 2 MB output costs 512 page
faults is then chance. It settles on these values in the end; the library's processes and candidates
get them from the start."""
N_SCRATCH_FILES = 200_000
"""The files in one scratch folder: an empty file takes a kilobyte that no limit on bytes counts,
and the kernel by itself allows one for every two pages of the machine."""
ACTING_FOR_OTHERS = kernel.CHOWN | kernel.KILL | kernel.SETGID | kernel.SETUID
READY_BUILDS = "KERNELWRIGHT_READY_BUILDS"
"""The variable that names the folder of kernels that were compiled before."""
MEANING = {
    "processes": "the candidate signals no process but its own, and reads no other's memory",
    "network": "no network",
    "filesystem": "files read-only and on an allow-list, one scratch folder",
    "user": "runs as another user, without capabilities",
    "memory": "limits on memory, processes and file size",
    "calls": "no system calls for tracing, mounting, keys, modules or other users of the kernel",
    "environment": "the user's environment variables are neither passed on nor to be read",
    "freeze": "stopped whenever it is not being called",
    "copy-free": "outputs are read from its memory after the clock has stopped",
}


def require_linux() -> None:
    """Check that this system can isolate a process.

    Raises:
        DeviceError: it is not Linux.
    """
    if platform.system() != "Linux":
        raise DeviceError(
            "candidates are judged on Linux only, whose kernel isolates them",
            seen=platform.system(),
            do="run it on Linux: a container, a virtual machine or WSL will do",
        )


@dataclass(frozen=True)
class ChildOptions:
    """The differences between children of one fork server."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables besides the fork server's own."""
    cache: Path | None = None
    """A folder to use as scratch and to keep. A child that has one is trusted."""
    refuse: frozenset[str] = frozenset()
    """Namespaces to do without, named by the guarantee that each gives; other means take over."""
    memory_share: float = MEMORY_SHARE
    cores: tuple[int, ...] = ()
    """The cores that it is confined to when it first stands still; empty: all."""
    ready: tuple[Path, ...] = ()
    """Folders of Triton's cache with kernels that our own code has compiled, or a library in C++;
    it sees copies."""
    on_gpu: bool = False
    """True if it uses a GPU: its profiler's programs talk to each other over the network, by
    sockets whose memory nobody counts, and its driver names threads by writing below ``/proc``."""


NO_OPTIONS = ChildOptions()


@dataclass(frozen=True)
class Plan:
    """The isolation of one child, planned by the parent."""

    folder: str
    """An empty folder on the host: the mount point of the new root, or the scratch itself."""
    uid: int
    """The user to become, when started by root."""
    memory_bytes: int
    n_processes: int | None = None
    """Its user's processes and threads at most; None: no limit."""
    visible: tuple[str, ...] = ()
    """Folders besides the system's that the child may read."""
    options: ChildOptions = NO_OPTIONS

    @property
    def is_trusted(self) -> bool:
        """True for the library's own processes, which keep what they compile."""
        return self.options.cache is not None

    @property
    def scratch(self) -> str:
        """The folder on the host that it may write to."""
        return str(self.options.cache or self.folder)


def visible_folders() -> tuple[str, ...]:
    """Folders that Python and its packages need besides the system's; outermost ones only."""
    package = Path(__file__).resolve().parents[3]
    entries = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(package)]
    entries += [e for e in sys.path if e.endswith(SITES)]
    entries += [e for e in sys.path if e and holds_installed_packages(e)]
    entries += installed_by_name()
    if site.ENABLE_USER_SITE:
        entries.append(site.getusersitepackages())
    entries += [e for e in sys.path if e and (Path(e) / "torch" / "__init__.py").exists()]
    if "CUDA_HOME" in os.environ:
        entries.append(os.environ["CUDA_HOME"])
    found: list[str] = []
    for entry in sorted({os.path.abspath(e) for e in entries if os.path.isdir(e)}):
        inside = any(entry == f or entry.startswith(f + "/") for f in (*SYSTEM, *found))
        if not inside and entry != "/":
            found.append(entry)
    return tuple(found)


def library_folders() -> tuple[str, ...]:
    """The system's folders and the visible ones, each by its own name and without links: Linux
    names the files of a process by the latter, and an environment may be a link to another."""
    folders = (*SYSTEM, *visible_folders())
    return tuple(dict.fromkeys((*folders, *map(os.path.realpath, folders))))


def child_environment(extra: Mapping[str, str], *, scratch: str, threads: int) -> dict[str, str]:
    """The whole environment of a child: nothing of the user's but ``KEPT_VARIABLES`` and PATH."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    environment["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
    )
    environment |= scratch_variables(scratch) | {"USER": "candidate"}
    environment |= {"LOGNAME": "candidate", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    environment |= {"MAX_JOBS": str(threads)} | STEADY_ALLOCATOR
    return environment | dict(extra)


def scratch_variables(scratch: str) -> dict[str, str]:
    """The variables that point to the scratch folder."""
    names = (
        "HOME",
        "TMPDIR",
        "TORCH_EXTENSIONS_DIR",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
    )
    return dict.fromkeys(names, scratch) | {"CUDA_CACHE_PATH": scratch + "/cuda"}


def give_up_rights(plan: Plan, granted: set[str], *, in_user_namespace: bool) -> set[str]:
    """Become an unprivileged user without capabilities, with limits, for good.

    ``granted``: the guarantees that namespaces have given already; those gained here are returned.

    Raises:
        OSError: refused.
    """
    if "filesystem" in granted and not plan.options.on_gpu:
        kernel.make_read_only("/proc")
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_NOFILE, N_FILES)
    _limit(resource.RLIMIT_DATA, plan.memory_bytes)
    kernel.forswear_capabilities()
    is_reachable = "filesystem" in granted or all(map(_is_open_to_all, plan.visible))
    if can_become(plan.uid) and not in_user_namespace:
        if is_reachable:
            os.setgroups([])
            os.setresgid(plan.uid, plan.uid, plan.uid)
            os.setresuid(plan.uid, plan.uid, plan.uid)
        else:
            os.chown(plan.folder, 0, 0)
    if plan.n_processes is not None:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NPROC, (plan.n_processes, plan.n_processes))
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    # Reading its memory afterwards needs a dumpable process; changing the user had cleared it.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    gained = {"memory"} | ({"user"} if os.geteuid() == plan.uid else set())
    gained |= _restrict_files(plan, granted) | _filter_calls(plan, granted)
    # Otherwise it reads them in /proc, from the judge and from all other processes of its user.
    is_apart = in_user_namespace or (granted | gained) & {"user", "processes", "filesystem"}
    return gained | ({"environment"} if is_apart else set())


def _limit(what: int, most: int) -> None:
    """Lower a limit for good, unless the user's own is lower."""
    _, own = resource.getrlimit(what)
    least = most if own == resource.RLIM_INFINITY else min(most, own)
    resource.setrlimit(what, (least, least))


def most_processes(uid: int) -> int:
    """The limit on processes and threads of a child's user.

    The kernel counts them by user: a child that stays the caller's user needs room for all others
    that this user runs.
    """
    its_own = N_PROCESSES + POOLS * (os.cpu_count() or 1)
    if can_become(uid):
        return its_own
    n_others = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if folder.stat().st_uid == os.getuid():
                n_others += len(os.listdir(folder / "task"))
    return its_own + 2 * n_others


def can_become(uid: int) -> bool:
    """True if this process may become that other user, give it a folder and signal it.

    Only root may, and only where the number is a user's. The root of a rootless container is one
    user outside, and most numbers mean nobody there. The root of another container may have no
    capabilities. Docker's may not read another user's processes: if Landlock keeps a candidate from
    the user's files, it matters more that the judge can read outputs from its memory.
    """
    held = kernel.capabilities()
    if os.geteuid() != 0 or uid == 0 or ACTING_FOR_OTHERS & ~held:
        return False
    if not held & kernel.SYS_PTRACE and landlock.version():
        return False
    known = (map(int, line.split()) for line in Path("/proc/self/uid_map").read_text().splitlines())
    return any(first <= uid < first + count for first, _, count in known)


def reads_all(uid: int) -> bool:
    """True if this process may read the memory of a child that becomes that user."""
    return bool(kernel.capabilities() & kernel.SYS_PTRACE) or not can_become(uid)


def _is_open_to_all(folder: str) -> bool:
    """True if every user can reach a folder: Python itself may lie in root's home."""
    parts = [Path(folder), *Path(folder).parents]
    return all(part.stat().st_mode & stat.S_IXOTH for part in parts)


def _restrict_files(plan: Plan, granted: set[str]) -> set[str]:
    """Use Landlock for the guarantees that namespaces did not give; the guarantees gained."""
    missing = {"filesystem", "processes"} - granted
    read = [*SYSTEM, *plan.visible, *(f"/etc/{name}" for name in ETC), "/sys", "/proc"]
    write = [plan.scratch, *map(str, Path("/dev").glob("nvidia*"))]
    write += [f"/dev/{name}" for name in DEVICES]
    can_set_the_kernel = os.access("/proc/sys/kernel/core_pattern", os.W_OK)
    if plan.options.on_gpu and (plan.is_trusted or not can_set_the_kernel):
        write.append("/proc")  # otherwise CUDA does not start (error 304)
    try:
        return landlock.restrict(
            readable=read if "filesystem" in missing else None,
            writable=write,
            scope_signals="processes" in missing,
        )
    except OSError:
        return set()


def _filter_calls(plan: Plan, granted: set[str]) -> set[str]:
    """Install the filter on system calls; it stands in for the network namespace, too."""
    lacks_network = "network" not in granted
    only_local = lacks_network or not plan.options.on_gpu
    # The user's own files and servers are in sight, and it may be that user.
    is_beside = "filesystem" not in granted and not plan.is_trusted
    try:
        seccomp.install(
            only_local_sockets=only_local,
            keeps_cores=bool(plan.options.cores),
            keeps_rights=is_beside,
            keeps_to_itself=is_beside and not plan.options.on_gpu,
            slows_nobody=not plan.is_trusted and os.geteuid() != plan.uid,  # it is their user
        )
    except OSError:
        return set()
    return {"calls", "network"} if lacks_network else {"calls"}
