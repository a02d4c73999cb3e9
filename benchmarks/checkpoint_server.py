"""Serve a Hugging Face checkpoint as an OpenAI-compatible server on this machine.

python benchmarks/checkpoint_server.py FOLDER --port 8123
kernelwright optimize TASK --proposer swarm --model http://127.0.0.1:8123/v1#local

Questions that wait are answered together, whoever asks: several searches share one model. Keep it
to this machine; it knows no keys. For serving to others there are vLLM and SGLang.
"""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click

from kernelwright.core.call import Outcome
from kernelwright.llm import checkpoint
from kernelwright.llm.checkpoint import MAX_OUTPUT_TOKENS, CheckpointEndpoint
from kernelwright.llm.endpoint import Reply, parse

LONGEST_S = 600.0  # as long as the swarm waits at most


class Handler(BaseHTTPRequestHandler):
    """Chat completions, streamed as one piece, and nothing else."""

    model: CheckpointEndpoint
    most: int
    """Tokens of an answer."""

    def do_GET(self) -> None:
        self._head(200, "application/json")
        self.wfile.write(b'{"status": "ok"}')

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parameters = dict(self.model.parameters(asked.get("seed", 0)))
        parameters |= {name: asked[name] for name in ("temperature", "top_p") if name in asked}
        wanted = asked.get("max_completion_tokens", self.most)
        parameters["max_output_tokens"] = min(wanted, self.most)
        messages = [(said["role"], said["content"]) for said in asked["messages"]]
        began = time.monotonic()
        reply = self.model.ask(messages, parameters, LONGEST_S)
        click.echo(f"{reply.outcome} {reply.output_tokens} tokens {time.monotonic() - began:.1f} s")
        self._head(200, "text/event-stream")
        for event in events(reply):
            self.wfile.write(f"data: {event}\n\n".encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """What is answered is printed; requests are not."""


class Server(ThreadingHTTPServer):
    """As many questions at once as come."""

    daemon_threads = True
    request_queue_size = 128


def events(reply: Reply) -> list[str]:
    """A reply as the events of a stream."""
    ended = "stop" if reply.outcome is Outcome.ANSWERED else "length"
    choice = {"index": 0, "delta": {"content": reply.answer}, "finish_reason": ended}
    usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
    usage["total_tokens"] = sum(count or 0 for count in usage.values())
    shape = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": "local"}
    return [
        json.dumps(shape | {"choices": [choice]}),
        json.dumps(shape | {"choices": [], "usage": usage}),
        "[DONE]",
    ]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", default=8123, show_default=True)
@click.option("--max-tokens", default=MAX_OUTPUT_TOKENS, show_default=True, help="Of an answer.")
@click.option(
    "--gather",
    default=checkpoint.GATHER_S,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for others to answer together: as several searches ask.",
)
def main(folder: Path, port: int, max_tokens: int, gather: float) -> None:
    """Serve the checkpoint in FOLDER until it is stopped."""
    checkpoint.GATHER_S = gather
    name = f"hf:{folder.resolve()}"
    Handler.model, Handler.most = CheckpointEndpoint(name, parse(name)), max_tokens
    server = Server(("127.0.0.1", port), Handler)
    click.echo(f"ready: http://127.0.0.1:{port}/v1#local")
    server.serve_forever()


if __name__ == "__main__":
    main()
