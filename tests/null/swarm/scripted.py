"""A real HTTP server with the chat-completions protocol that follows a script of failures."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Step = Callable[[BaseHTTPRequestHandler], None]
MODEL = "scripted"


class ScriptedServer:
    """Answers each request with the next step of its script; the last step repeats."""

    def __init__(self) -> None:
        self.script: list[Step] = [say("hello")]
        self.requests: list[dict] = []
        """The JSON of every request, with its headers under 'headers'."""
        self._lock = threading.Lock()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                asked = json.loads(self.rfile.read(length)) | {"headers": dict(self.headers)}
                with scripted._lock:
                    scripted.requests.append(asked)
                    several = len(scripted.script) > 1
                    step = scripted.script.pop(0) if several else scripted.script[0]
                step(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1#{MODEL}"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    def die(self) -> None:
        """Close the port: later requests find nobody."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that left is no news."""


def say(text: str, *, reads: int = 100, writes: int = 50, ended: str = "stop") -> Step:
    """A complete answer in three pieces, with its token counts."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        third = max(1, len(text) // 3)
        for piece in (text[:third], text[third : 2 * third], text[2 * third :]):
            _event(handler, {"delta": {"content": piece}, "finish_reason": None, "index": 0})
        _event(handler, {"delta": {}, "finish_reason": ended, "index": 0})
        usage = {"prompt_tokens": reads, "completion_tokens": writes, "total_tokens": 0}
        _event(handler, None, usage)
        _chunk(handler, b"data: [DONE]\n\n")
        _chunk(handler, b"")

    return _streamed(step)


def half(text: str) -> Step:
    """The beginning of an answer, followed by a closed connection."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        _event(handler, {"delta": {"content": text}, "finish_reason": None, "index": 0})
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.close()

    return _streamed(step)


def refuse(text: str) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        _event(handler, {"delta": {"refusal": text}, "finish_reason": "stop", "index": 0})
        _chunk(handler, b"data: [DONE]\n\n")
        _chunk(handler, b"")

    return _streamed(step)


def chunks(*found: tuple[dict, dict | None]) -> Step:
    """A stream of the given (choice, usage) pairs."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        for choice, usage in found:
            _event(handler, {"index": 0, "finish_reason": None} | choice, usage)
        _chunk(handler, b"data: [DONE]\n\n")
        _chunk(handler, b"")

    return _streamed(step)


def fail(status: int, message: str, **headers: str) -> Step:
    return fail_with(status, {"error": {"message": message, "type": "t", "code": None}}, **headers)


def fail_with(status: int, said: object, **headers: str) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps(said).encode()
        _head(handler, status, "application/json", {"Content-Length": str(len(body))} | headers)
        handler.wfile.write(body)

    return step


def garbage(body: bytes, kind: str = "text/event-stream") -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, 200, kind, {"Content-Length": str(len(body))})
        handler.wfile.write(body)

    return step


def slow(seconds: float, then: Step) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        then(handler)

    return step


def _streamed(step: Step) -> Step:
    def whole(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, 200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        step(handler)

    return whole


def _head(handler: BaseHTTPRequestHandler, status: int, kind: str, headers: dict) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def _event(handler: BaseHTTPRequestHandler, choice: dict | None, usage: dict | None = None) -> None:
    chunk = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": MODEL,
        "choices": [choice] if choice else [],
        "usage": usage,
    }
    _chunk(handler, b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
