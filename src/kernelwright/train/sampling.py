"""Sampling of answers from the current model, in one batch, by this process or by vLLM."""

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
    """Return the tokens of one answer to each prompt, including the end token.

    vLLM also returns each token's log probability, with which TRL corrects for numerical
    differences between the two implementations of the model.

    ``on_look`` is called repeatedly with answers that end before others do, but never with vLLM.
    Every ``n_alike`` adjacent prompts are equal; a vLLM server reads one of them.
    """
    if trainer.use_vllm:  # TRL sends this step's weights to vLLM before it asks for answers
        _, written, likely, _ = trainer.vllm_generation.generate(
            prompts=prompts, images=None, num_generations=n_alike
        )
        return written, [[place[0] for place in row] for row in likely]
    return _own(trainer, prompts, on_look), None


def _own(
    trainer: Any, prompts: list[list[int]], on_look: Callable[[decode.Ended], None]
) -> list[list[int]]:
    from trl.models import unwrap_model_for_generation

    tokenizer = trainer.processing_class
    read = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    read = read.to(trainer.accelerator.device)
    config = trainer.generation_config
    draw = decode.Sampling(config.temperature, n_top=config.top_k or 0, top_p=config.top_p)
    with (
        unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model,
        merged(model),
    ):
        model.eval()  # dropout would make the answers worse
        stops = ends(tokenizer, model)
        written = decode.write(
            model, read, limit=config.max_new_tokens, draw=draw, stops=stops, on_look=on_look
        )
        model.train()
    return written


@contextlib.contextmanager
def merged(model: Any) -> Iterator[None]:
    """Merge the adapter into the weights for a while: one matrix product a layer instead of three.

    The weights are restored from a copy, since subtracting the adapter again would add a rounding
    error at every step.
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
