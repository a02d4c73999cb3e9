"""Answers of a checkpoint, token by token: a batch together, and on a GPU one graph for each token.

transformers' own loop launches every kernel of every layer from Python: on the host of an H200 a
token of half a billion parameters took 0.1 s, whether four answers were written or 132. Recorded
once, they are launched as one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

N_TOP = 50
"""Tokens to draw from, the likeliest: what transformers' ``generate`` does unless it is told."""
ALIGNED = 8  # places; attention with a mask of another length copies it first
LOOK_EVERY = 16  # tokens; to look whether all have come to their end takes a wait for the device


@dataclass(frozen=True)
class Draw:
    """How the next token is drawn."""

    temperature: float
    n_top: int = N_TOP
    """Of so many tokens, the likeliest; 0: of all."""
    top_p: float = 1.0
    """Of so many of those that their probabilities come to this."""

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """A token for each row.

        Shapes:
            (rows, vocabulary) gives (rows,).
        """
        scaled = logits.float() / self.temperature
        n_all = scaled.shape[-1]
        if not self.n_top and self.top_p >= 1.0:
            return torch.multinomial(scaled.softmax(-1), 1)[:, 0]
        kept, tokens = scaled.topk(min(self.n_top or n_all, n_all))
        likely = kept.softmax(-1)
        before = likely.cumsum(-1) - likely
        drawn = torch.multinomial(likely.masked_fill(before >= self.top_p, 0.0), 1)
        return tokens.gather(1, drawn)[:, 0]


def write(
    model: Any, read: Mapping[str, torch.Tensor], *, limit: int, draw: Draw, stops: Sequence[int],
    until_s: float = math.inf,
) -> list[list[int]]:  # fmt: skip
    """The tokens of one answer to each prompt, up to and with its end, ``limit`` at most.

    ``read`` holds prompts that are filled up on the left: ``input_ids`` and ``attention_mask``.
    What is not at its end when the clock (``time.monotonic``) says ``until_s`` is cut off there.
    """
    if is_recordable(model):
        return recorded(model, read, limit=limit, draw=draw, stops=stops, until_s=until_s)
    left_s = min(max(1.0, until_s - time.monotonic()), threading.TIMEOUT_MAX)
    width = read["input_ids"].shape[1]
    with torch.no_grad():
        rows = model.generate(
            **read, do_sample=True, temperature=draw.temperature, top_k=draw.n_top,
            top_p=draw.top_p, max_new_tokens=limit, max_time=left_s, eos_token_id=list(stops),
            pad_token_id=stops[0],
        )  # fmt: skip
    return [to_end(row, stops) for row in rows[:, width:].tolist()]


def is_recordable(model: Any) -> bool:
    """Whether a model's tokens can be recorded: on a GPU, and with full attention alone, whose
    keys and values have fixed places."""
    kinds = getattr(model.config, "layer_types", None) or ()
    is_plain = bool(kinds) and set(kinds) == {"full_attention"}
    return is_plain and next(model.parameters()).device.type == "cuda"


def recorded(
    model: Any, read: Mapping[str, torch.Tensor], *, limit: int,
    draw: Callable[[torch.Tensor], torch.Tensor], stops: Sequence[int], until_s: float = math.inf,
) -> list[list[int]]:  # fmt: skip
    """``write`` for a model that is recordable; on a CPU the same steps without a recording."""
    with torch.inference_mode():
        writer = _Writer(model, read, limit)
        token = draw(writer.first())
        written, is_done = [token], torch.isin(token, writer.ends(stops))
        while len(written) < limit:
            if len(written) % LOOK_EVERY == 0 and (is_done.all() or time.monotonic() > until_s):
                break
            token = draw(writer.next(token))
            written.append(token)
            is_done |= torch.isin(token, writer.ends(stops))
        rows = torch.stack(written, 1).tolist()
    return [to_end(row, stops) for row in rows]


def to_end(row: list[int], stops: Sequence[int]) -> list[int]:
    """A row up to and with the first token that ends it."""
    first = min((row.index(stop) for stop in stops if stop in row), default=len(row))
    return row[: first + 1]


class _Writer:
    """A batch that is being written: the logits of each next token."""

    def __init__(self, model: Any, read: Mapping[str, torch.Tensor], limit: int) -> None:
        from transformers import StaticCache

        self._model, self._prompt, self._seen = model, read["input_ids"], read["attention_mask"]
        n_rows, self._width = self._prompt.shape
        device, length = self._prompt.device, math.ceil((self._width + limit) / ALIGNED) * ALIGNED
        self._cache = StaticCache(config=model.config, max_cache_len=length)
        self._open = torch.zeros(n_rows, 1, 1, length, dtype=torch.bool, device=device)
        """The places that may be looked at."""
        self._open[:, 0, 0, : self._width] = self._seen.bool()
        self._place = self._seen.sum(1, keepdim=True)
        self._token = torch.zeros(n_rows, 1, dtype=torch.long, device=device)
        self._n_steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits: torch.Tensor | None = None
        self._ends: torch.Tensor | None = None

    def ends(self, stops: Sequence[int]) -> torch.Tensor:
        if self._ends is None:
            self._ends = torch.tensor(list(stops), device=self._token.device)
        return self._ends

    def first(self) -> torch.Tensor:
        """After the prompts."""
        places = (self._seen.cumsum(1) - 1).clamp(min=0)
        told = {"attention_mask": self._seen, "position_ids": places, "logits_to_keep": 1}
        found = self._model(
            input_ids=self._prompt, past_key_values=self._cache, use_cache=True, **told
        )
        return found.logits[:, -1]

    def next(self, token: torch.Tensor) -> torch.Tensor:
        """After one token more."""
        self._open[..., self._width + self._n_steps] = True
        self._token.copy_(token[:, None])
        if self._n_steps:
            self._place += 1
        self._n_steps += 1
        if self._n_steps == 2:  # the first was launched, and has prepared all that later ones need
            self._record()
        if self._graph is None:
            return self._step()
        self._graph.replay()
        return self._logits

    def _record(self) -> None:
        """Record a step; where a model waits for the device in its midst, go on without."""
        if self._token.device.type != "cuda":
            return
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._logits = self._step()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            torch.cuda.synchronize()
        else:
            self._graph = graph

    def _step(self) -> torch.Tensor:
        found = self._model(
            input_ids=self._token, attention_mask=self._open, position_ids=self._place,
            past_key_values=self._cache, use_cache=True,
        )  # fmt: skip
        return found.logits[:, -1]
