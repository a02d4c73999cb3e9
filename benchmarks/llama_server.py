"""Serve a GGUF file as an OpenAI-compatible server on this machine: llama.cpp's, from a wheel.

pip install xllamacpp
python benchmarks/llama_server.py qwen2.5-coder-0.5b-instruct-q4_k_m.gguf --port 8123
kernelwright optimize TASK --proposer swarm --model http://127.0.0.1:8123/v1#local
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

N_SLOTS = 4  # as many questions as the swarm asks at first
N_CONTEXT = 8_192 * N_SLOTS  # tokens for all slots together


@click.command()
@click.argument("gguf", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--port", default=8123, show_default=True)
@click.option("--threads", default=os.cpu_count() or 1, show_default=True)
def main(gguf: Path, port: int, threads: int) -> None:
    """Serve GGUF until it is stopped."""
    import xllamacpp

    told = xllamacpp.CommonParams()
    told.model.path = str(gguf)
    told.hostnames, told.port = ["127.0.0.1"], port
    told.n_ctx, told.n_parallel = N_CONTEXT, N_SLOTS
    told.cpuparams.n_threads = threads
    server = xllamacpp.Server(told)
    click.echo(f"ready: {server.listening_address}/v1#local")
    signal.pause()


if __name__ == "__main__":
    main()
