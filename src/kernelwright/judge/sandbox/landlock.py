"""Landlock: an allow-list of files, and no signals outwards, where namespaces are refused.

Source:
    landlock(7) and include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable

from kernelwright.judge.sandbox import kernel_calls as kernel

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on all architectures
ASK_VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
RIGHTS_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""The rights on files that each version knows; versions between these add none."""
SCOPES_SINCE, SCOPE_SOCKETS, SCOPE_SIGNALS = 6, 1, 2


def version() -> int:
    """This kernel's version of Landlock; 0 for none."""
    try:
        return kernel.syscall(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def restrict(
    *, readable: Iterable[str] | None, writable: Iterable[str], scope_signals: bool
) -> set[str]:
    """Restrict this process and its descendants for good; the guarantees that were gained.

    ``readable`` None leaves the file system as it is. ``no_new_privs`` must be set before.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    rights = max((mask for since, mask in RIGHTS_OF_VERSION.items() if since <= known), default=0)
    handled = 0 if readable is None else rights
    scopes = (SCOPE_SOCKETS | SCOPE_SIGNALS) if scope_signals and known >= SCOPES_SINCE else 0
    if not handled and not scopes:
        return set()
    attributes = struct.pack("QQQ", handled, 0, scopes)[: 24 if known >= SCOPES_SINCE else 8]
    rules = kernel.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable or ():
            _allow(rules, path, (EXECUTE | READ_FILE | READ_DIR) & handled)
        for path in writable if handled else ():
            _allow(rules, path, handled)
        kernel.syscall(RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)
    return ({"filesystem"} if handled else set()) | ({"processes"} if scopes else set())


def _allow(rules: int, path: str, rights: int) -> None:
    """Allow ``rights`` on a file, or on everything below a folder, if it can be opened."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):
                rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
            kernel.syscall(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
        finally:
            os.close(fd)
