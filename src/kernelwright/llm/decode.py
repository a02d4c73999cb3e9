"""Answers of a checkpoint, token by token: a batch together, and on a GPU one graph for each token.

transformers' own loop launches every kernel of every layer from Python: on the host of an H200 a
token of half a billion parameters took 0.1 s, whether four answers were written or 132. Recorded
once, they are launched as one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.llm.grouped_query import grouped

N_TOP = 50
"""Tokens to draw from, the likeliest: what transformers' ``generate`` does unless it is told."""
ALIGNED = 8  # places; attention with a mask of another length copies it first
LOOK_EVERY = 16  # tokens; to look which have come to their end takes a wait for the device
Ended = Mapping[int, list[int]]
"""Answers that have come to their end, by the number of their row."""


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
    until_s: float = math.inf, on_look: Callable[[Ended], None] = lambda ended: None,
) -> list[list[int]]:  # fmt: skip
    """The tokens of one answer to each prompt, up to and with its end, ``limit`` at most.

    ``read`` holds prompts that are filled up on the left: ``input_ids`` and ``attention_mask``.
    What is not at its end when the clock (``time.monotonic``) says ``until_s`` is cut off there.
    ``on_look`` is called every LOOK_EVERY tokens, with what has ended since, if anything.
    """
    if is_recordable(model):
        told = {"draw": draw, "stops": stops, "until_s": until_s, "on_look": on_look}
        return recorded(model, read, limit=limit, **told)
    width = read["input_ids"].shape[1]
    answers = _Answers(len(read["input_ids"]), stops)

    def look(tokens: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Called by ``generate`` after each token; it stops no row."""
        fresh = tokens[:, width + answers.n_tokens :]
        if fresh.shape[1] == LOOK_EVERY:
            on_look(answers.add(fresh.tolist()))
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)

    left_s = min(max(1.0, until_s - time.monotonic()), threading.TIMEOUT_MAX)
    with torch.no_grad():
        rows = model.generate(
            **read, do_sample=True, temperature=draw.temperature, top_k=draw.n_top,
            top_p=draw.top_p, max_new_tokens=limit, max_time=left_s, eos_token_id=list(stops),
            pad_token_id=stops[0], stopping_criteria=[look],
        )  # fmt: skip
    answers.add(rows[:, width + answers.n_tokens :].tolist())
    return answers.rows


def is_recordable(model: Any) -> bool:
    """Whether a model's tokens can be recorded: on a GPU, and with full attention alone, whose
    keys and values have fixed places."""
    kinds = getattr(model.config, "layer_types", None) or ()
    is_plain = bool(kinds) and set(kinds) == {"full_attention"}
    return is_plain and next(model.parameters()).device.type == "cuda"


def recorded(
    model: Any, read: Mapping[str, torch.Tensor], *, limit: int,
    draw: Callable[[torch.Tensor], torch.Tensor], stops: Sequence[int], until_s: float = math.inf,
    on_look: Callable[[Ended], None] = lambda ended: None,
) -> list[list[int]]:  # fmt: skip
    """``write`` for a model that is recordable; on a CPU the same steps without a recording."""
    answers = _Answers(len(read["input_ids"]), stops)
    with torch.inference_mode():
        writer = _Writer(model, read, limit)
        token = draw(writer.first())
        fresh = [token]
        with grouped(model):
            while True:
                n_written = answers.n_tokens + len(fresh)
                if len(fresh) == LOOK_EVERY or n_written >= limit:
                    on_look(answers.add(torch.stack(fresh, 1).tolist()))
                    if answers.are_whole or n_written >= limit or time.monotonic() > until_s:
                        return answers.rows
                    fresh.clear()
                token = draw(writer.next(token))
                fresh.append(token)


class _Answers:
    """The rows of a batch as far as they are written, each up to and with its end."""

    def __init__(self, n_rows: int, stops: Sequence[int]) -> None:
        self.rows: list[list[int]] = [[] for _ in range(n_rows)]
        self.n_tokens = 0
        """Written of each row, with what came after its end."""
        self._stops = frozenset(stops)
        self._open = set(range(n_rows))

    @property
    def are_whole(self) -> bool:
        return not self._open

    def add(self, fresh: Sequence[Sequence[int]]) -> Ended:
        """Take the next tokens of each row.

        Returns:
            The rows that end in these.
        """
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
    """Tokens up to and with the first that ends a row."""
    first = next((n for n, token in enumerate(tokens) if token in stops), len(tokens))
    return tokens[: first + 1]


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
