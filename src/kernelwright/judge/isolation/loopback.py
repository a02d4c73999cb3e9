"""The loopback of a network namespace: programs inside one may talk to each other, and to no other.

Source:
    netdevice(7): SIOCSIFFLAGS, IFF_UP; linux/sockios.h and linux/if.h for the numbers.
"""

from __future__ import annotations

import fcntl
import socket
import struct

SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


def bring_up() -> None:
    """Bring up ``lo`` in the namespace of the calling process.

    Raises:
        OSError: the process has no right to.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
