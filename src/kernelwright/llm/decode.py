"""Decodes answers of a checkpoint in batches, on a GPU with one CUDA graph launch per token.

transformers' own loop launches every kernel of every layer from Python: on the host of an H200 one
token of a model with half a billion parameters took 0.1 s, whether 4 or 132 answers were written.
Recorded in a CUDA graph, all kernels are launched at once.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.core.collector import collector_off
from kernelwright.llm.grouped_query import grouped

N_TOP = 50
"""Number of likeliest tokens to sample from, the default of transformers' ``generate``."""
ALIGNED = 8
"""Granularity of the cache's length in tokens; attention copies a mask of another length first."""
LOOK_EVERY = 16
"""Tokens between checks for finished answers; each check has to wait for the device."""
Ended = Mapping[int, list[int]]
"""Finished answers, by row number."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is sampled."""

    temperature: float
    n_top: int = N_TOP
    """Number of likeliest tokens to sample from; 0 means all."""
    top_p: float = 1.0
    """Sample from the likeliest tokens whose probabilities add up to this."""

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """Sample a token for each row.

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
    model: Any,
    read: Mapping[str, torch.Tensor],
    *,
    limit: int,
    draw: Sampling,
    stops: Sequence[int],
    until_s: float = math.inf,
    on_look: Callable[[Ended], None] = lambda ended: None,
) -> list[list[int]]:
    """Return the tokens of one answer to each prompt, with its end token, at most ``limit``.

    ``read`` holds ``input_ids`` and ``attention_mask`` of prompts that are padded on the left.
    Answers that are not finished when ``time.monotonic()`` reaches ``until_s`` are cut off.
    ``on_look`` is called every LOOK_EVERY tokens with the answers that have ended since, if any.
    """
    if is_recordable(model):
        return recorded(
            model, read, limit=limit, draw=draw, stops=stops, until_s=until_s, on_look=on_look
        )
    width = read["input_ids"].shape[1]
    answers = _Answers(len(read["input_ids"]), stops)

    def look(tokens: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """``generate`` calls this after each token; it never stops a row."""
        fresh = tokens[:, width + answers.n_tokens :]
        if fresh.shape[1] == LOOK_EVERY:
            on_look(answers.add(fresh.tolist()))
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)

    left_s = min(max(1.0, until_s - time.monotonic()), threading.TIMEOUT_MAX)
    with torch.no_grad():
        rows = model.generate(
            **read,
            do_sample=True,
            temperature=draw.temperature,
            top_k=draw.n_top,
            top_p=draw.top_p,
            max_new_tokens=limit,
            max_time=left_s,
            eos_token_id=list(stops),
            pad_token_id=stops[0],
            stopping_criteria=[look],
        )
    answers.add(rows[:, width + answers.n_tokens :].tolist())
    return answers.rows


def is_recordable(model: Any) -> bool:
    """Whether a model's decoding step can be recorded as a CUDA graph.

    It can on a GPU if all layers have full attention, whose keys and values have fixed positions.
    """
    kinds = getattr(model.config, "layer_types", None) or ()
    is_plain = bool(kinds) and set(kinds) == {"full_attention"}
    return is_plain and next(model.parameters()).device.type == "cuda"


def recorded(
    model: Any,
    read: Mapping[str, torch.Tensor],
    *,
    limit: int,
    draw: Callable[[torch.Tensor], torch.Tensor],
    stops: Sequence[int],
    until_s: float = math.inf,
    on_look: Callable[[Ended], None] = lambda ended: None,
) -> list[list[int]]:
    """``write`` for a recordable model; on a CPU the same steps run without a recording."""
    answers = _Answers(len(read["input_ids"]), stops)
    with torch.inference_mode():
        decoder = _Decoder(model, read, limit)
        token = draw(decoder.first())
        fresh = [token]
        with grouped(model):
            while True:
                n_written = answers.n_tokens + len(fresh)
                if len(fresh) == LOOK_EVERY or n_written >= limit:
                    on_look(answers.add(torch.stack(fresh, 1).tolist()))
                    if answers.are_whole or n_written >= limit or time.monotonic() > until_s:
                        return answers.rows
                    fresh.clear()
                token = draw(decoder.next(token))
                fresh.append(token)


class _Answers:
    """The rows of a batch as far as they are written, each ending with its end token."""

    def __init__(self, n_rows: int, stops: Sequence[int]) -> None:
        self.rows: list[list[int]] = [[] for _ in range(n_rows)]
        self.n_tokens = 0
        """Tokens written for each row, including those after its end."""
        self._stops = frozenset(stops)
        self._open = set(range(n_rows))

    @property
    def are_whole(self) -> bool:
        return not self._open

    def add(self, fresh: Sequence[Sequence[int]]) -> Ended:
        """Append the next tokens of each row and return the rows that end with them."""
        self.n_tokens += len(fresh[0])
        ended = {}
        for number in sorted(self._open):
            row = self.rows[number]
            row += _to_end(fresh[number], self._stops)
            if row and row[-1] in self._stops:
                ended[number] = row
        self._open -= ended.keys()
        return ended


def _to_end(tokens: Sequence[int], stops: Collection[int]) -> Sequence[int]:
    """Return the tokens up to and including the first end token."""
    first = next((n for n, token in enumerate(tokens) if token in stops), len(tokens))
    return tokens[: first + 1]


class _Decoder:
    """The decoding state of a batch; returns the logits of the next tokens."""

    def __init__(self, model: Any, read: Mapping[str, torch.Tensor], limit: int) -> None:
        from transformers import StaticCache

        self._model, self._prompt, self._seen = model, read["input_ids"], read["attention_mask"]
        n_rows, self._width = self._prompt.shape
        device, length = self._prompt.device, math.ceil((self._width + limit) / ALIGNED) * ALIGNED
        self._cache = StaticCache(config=model.config, max_cache_len=length)
        self._open = torch.zeros(n_rows, 1, 1, length, dtype=torch.bool, device=device)
        """The positions that attention may read."""
        self._open[:, 0, 0, : self._width] = self._seen.bool()
        self._place = self._seen.sum(1, keepdim=True)
        self._token = torch.zeros(n_rows, 1, dtype=torch.long, device=device)
        self._n_steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits: torch.Tensor | None = None

    def first(self) -> torch.Tensor:
        """Read the prompts and return the logits of the first token."""
        found = self._model(
            input_ids=self._prompt,
            attention_mask=self._seen,
            position_ids=(self._seen.cumsum(1) - 1).clamp(min=0),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return found.logits[:, -1]

    def next(self, token: torch.Tensor) -> torch.Tensor:
        """Read one more token of each row and return the logits of the next one."""
        self._open[..., self._width + self._n_steps] = True
        self._token.copy_(token[:, None])
        if self._n_steps:
            self._place += 1
        self._n_steps += 1
        if self._n_steps == 2:  # the first step ran eagerly and has initialised all that is needed
            self._record()
        if self._graph is None:
            return self._step()
        self._graph.replay()
        return self._logits

    def _record(self) -> None:
        """Record a step as a CUDA graph; a model that synchronizes inside a step runs without."""
        if self._token.device.type != "cuda":
            return
        graph = torch.cuda.CUDAGraph()
        try:
            with collector_off(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._logits = self._step()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            torch.cuda.synchronize()
        else:
            self._graph = graph

    def _step(self) -> torch.Tensor:
        found = self._model(
            input_ids=self._token,
            attention_mask=self._open,
            position_ids=self._place,
            past_key_values=self._cache,
            use_cache=True,
        )
        return found.logits[:, -1]
