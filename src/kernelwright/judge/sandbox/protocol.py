"""Messages between the judge's processes: length-prefixed frames over a Unix socket.

Towards a child a frame may hold a pickle, because the parent is trusted. From a child it holds
JSON and nothing else: whatever a candidate sends is parsed, never executed.

All functions that receive raise Closed if the other side is gone, Late if it does not answer in
time, and Garbled if the message does not belong to this protocol. Deadlines are times of
``time.monotonic()``.
"""

from __future__ import annotations

import array
import contextlib
import json
import pickle
import select
import socket
import struct
import time
from typing import Any, NamedTuple

LENGTH = struct.Struct("<I")
MAX_REPLY_BYTES = 8 << 20  # a profile of a large module is about 1 MB as JSON
CREDENTIALS = struct.Struct("iii")
MAX_COMPLETION_BYTES = 128 << 10  # below the default send buffer of a Unix socket, 208 kB
DONE = b"."
"""A completion signal without the description of the result, which follows. It is no JSON."""
QUEUED = b":"
"""A signal that all calls of a window are queued on the device, behind the gate. It is no JSON."""
GO = b"G"
"""The first byte of a request to run calls. No pickle begins with this byte."""


class Go(NamedTuple):
    """A request to run one call, or a window of them. Everything else was agreed on before."""

    hold: str = ""
    """The names under which the last output is held, separated by commas."""
    is_gated: bool = False
    """The calls are queued behind the gate."""
    order: tuple[int, ...] = ()
    """The places in the ring of the calls' arguments; empty: one call on what was prepared."""

    def text(self) -> bytes:
        """The request as it is sent."""
        order = ",".join(map(str, self.order))
        return GO + f"{self.hold};{':' if self.is_gated else ''};{order}".encode()

    @classmethod
    def of(cls, text: bytes) -> Go:
        """The request that was sent."""
        hold, gated, order = text.removeprefix(GO).decode().split(";")
        return cls(hold, bool(gated), tuple(map(int, order.split(","))) if order else ())


ONE_CALL = Go()

TURN_TO = "turn_to"
"""The request by which the judge turns to another module of a child that holds several."""


class Closed(Exception):
    """The other side is gone."""


class Late(Exception):
    """The other side did not answer in time; an argument says how that is known already."""


class Garbled(Exception):
    """The message received does not belong to this protocol."""


def framed(body: bytes) -> bytes:
    """One frame, ready to be sent."""
    return LENGTH.pack(len(body)) + body


def send_frame(sock: socket.socket, body: bytes, fds: tuple[int, ...] = ()) -> None:
    """Send one frame, with file descriptors if given."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    data = memoryview(framed(body))
    try:
        sent = sock.sendmsg([data], ancillary)
        while sent < len(data):
            sent += sock.send(data[sent:])
    except (BrokenPipeError, ConnectionResetError) as error:
        raise Closed from error
    except TimeoutError as error:
        raise Late from error


def send_request(sock: socket.socket, request: Any, fds: tuple[int, ...] = ()) -> None:
    """Send a request to a child, pickled."""
    send_frame(sock, pickle.dumps(request, protocol=5), fds)


def send_reply(sock: socket.socket, reply: Any) -> None:
    """Send a reply to the parent, as JSON."""
    send_frame(sock, json.dumps(reply).encode())


def receive_frame(sock: socket.socket, *, deadline_s: float) -> bytes:
    """The body of the next frame."""
    (size,) = LENGTH.unpack(_receive(sock, LENGTH.size, deadline_s))
    if size > MAX_REPLY_BYTES:
        raise Garbled(f"a message of {size} bytes")
    return _receive(sock, size, deadline_s)


def receive_request(sock: socket.socket) -> tuple[Any, list[int]]:
    """The next request of the parent, with its file descriptors. Only for the child side.

    Returns:
        The frame's bytes for a call, which begin with ``GO``; the unpickled object otherwise.
    Raises:
        Closed: the parent is gone, even if it left messages unread.
    """
    try:
        head, fds, _, _ = socket.recv_fds(sock, LENGTH.size, 8)
    except ConnectionResetError as error:
        raise Closed from error
    if not head:
        raise Closed
    (size,) = LENGTH.unpack(head + _receive(sock, LENGTH.size - len(head)))
    body = _receive(sock, size)
    return (body if body[:1] == GO else pickle.loads(body)), list(fds)


def receive_greeting(sock: socket.socket, *, deadline_s: float) -> tuple[Any, int]:
    """The first message of a child, and the child's process id as the kernel vouches for it.

    SO_PASSCRED must have been set on ``sock`` before the message was sent.
    """
    sock.settimeout(max(deadline_s - time.monotonic(), 1e-3))
    try:
        head, ancillary, _, _ = sock.recvmsg(LENGTH.size, socket.CMSG_SPACE(CREDENTIALS.size))
    except TimeoutError as error:
        raise Late from error
    if len(head) < LENGTH.size:
        raise Closed
    pids = [
        CREDENTIALS.unpack(data)[0]
        for level, kind, data in ancillary
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS
    ]
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    return parse_reply(_receive(sock, LENGTH.unpack(head)[0], deadline_s)), pids[0]


def receive_completion(sock: socket.socket, *, spin_s: float = 0.0) -> bytes:
    """The next completion signal. For ``spin_s`` this process polls, so that it notices at once;
    then it sleeps until one comes."""
    end_s = time.monotonic() + spin_s
    while time.monotonic() < end_s:
        if select.select([sock], [], [], 0)[0]:
            break
    return _receive_some(sock, MAX_COMPLETION_BYTES)


def expect_silence(sock: socket.socket) -> None:
    """Check that a channel is open and empty before anything is asked on it."""
    if select.select([sock], [], [], 0)[0]:
        with contextlib.suppress(ConnectionResetError):
            if sock.recv(1, socket.MSG_PEEK):
                raise Garbled("an answer that nobody asked for")
        raise Closed


def parse_reply(body: bytes) -> Any:
    """The JSON value in a child's frame."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Garbled("a message that is not JSON") from error


def _receive(sock: socket.socket, n_bytes: int, deadline_s: float | None = None) -> bytes:
    """So many bytes."""
    data = bytearray()
    while len(data) < n_bytes:
        if deadline_s is not None:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 and data:
                raise Late
            sock.settimeout(max(left_s, 1e-3))
        data += _receive_some(sock, n_bytes - len(data))
    return bytes(data)


def _receive_some(sock: socket.socket, n_bytes: int) -> bytes:
    """At least one byte, and at most ``n_bytes``."""
    try:
        some = sock.recv(n_bytes)
    except TimeoutError as error:
        raise Late from error
    except ConnectionResetError as error:
        raise Closed from error
    if not some:
        raise Closed
    return some
