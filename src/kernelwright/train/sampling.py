"""Answers of the model as it is at this step, in one batch, by this process or by vLLM."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from kernelwright.llm import decode
from kernelwright.llm.chat import ends


def sample(
    trainer: Any,
    prompts: list[list[int]],
    on_look: Callable[[decode.Ended], None],
    *,
    n_alike: int,
) -> tuple[list[list[int]], list[list[float]] | None]:
    """The tokens of one answer to each prompt, up to and with its end; from vLLM also how likely
    each token was to it, by which TRL corrects for what the two models compute differently.

    ``on_look`` is told of answers that end before others do, again and again; by vLLM never.
    ``n_alike`` prompts that lie together are the same, of which its server reads one.
    """
    if trainer.use_vllm:  # it has this step's weights: TRL brings them before it asks for answers
        told = {"images": None, "num_generations": n_alike}
        _, written, likely, _ = trainer.vllm_generation.generate(prompts=prompts, **told)
        return written, [[place[0] for place in row] for row in likely]
    return _own(trainer, prompts, on_look), None


def _own(
    trainer: Any, prompts: list[list[int]], on_look: Callable[[decode.Ended], None]
) -> list[list[int]]:
    from trl.models import unwrap_model_for_generation

    tokenizer = trainer.processing_class
    read = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    read = read.to(trainer.accelerator.device)
    told = trainer.generation_config
    draw = decode.Draw(told.temperature, n_top=told.top_k or 0, top_p=told.top_p)
    with (
        unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model,
        merged(model),
    ):
        model.eval()  # with dropout it would answer worse than it is
        stops = ends(tokenizer, model)
        written = decode.write(
            model, read, limit=told.max_new_tokens, draw=draw, stops=stops, on_look=on_look
        )
        model.train()
    return written


@contextlib.contextmanager
def merged(model: Any) -> Iterator[None]:
    """The adapter inside the weights for a while: one product a layer instead of three.

    The weights are put back from a copy, since taking the adapter out again would round them a
    little more at every step.
    """
    if not hasattr(model, "merge_adapter"):
        yield
        return
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = [part.get_base_layer() for part in model.modules() if isinstance(part, BaseTunerLayer)]
    kept = [layer.weight.detach().clone() for layer in layers]
    model.merge_adapter()
    try:
        yield
    finally:
        model.unmerge_adapter()
        for layer, weight in zip(layers, kept, strict=True):
            layer.weight.data.copy_(weight)
