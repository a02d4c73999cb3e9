"""Answers from vLLM: TRL's settings for it, and the log probabilities that TRL needs."""

from types import SimpleNamespace

import pytest

from kernelwright.train import recipe
from kernelwright.train.reinforce import _vllm
from kernelwright.train.sampling import sample


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("", {}),
        ("colocate", {"use_vllm": True, "vllm_mode": "colocate"}),
        (
            "http://host:8000",
            {
                "use_vllm": True,
                "vllm_mode": "server",
                "vllm_server_base_url": "http://host:8000",
            },
        ),
    ],
)
def test_trl_gets_the_address_of_vllm_and_the_end_tokens(where, told):
    wanted = recipe("selfsup", model="m", out="o", archive="a", vllm=where)
    ends = {"generation_kwargs": {"stop_token_ids": [7, 9]}} if where else {}
    assert _vllm(wanted, [7, 9]) == told | ends


def test_answers_have_vllms_log_probabilities():
    def generate(prompts, images, num_generations):
        assert (prompts, num_generations) == ([[1], [1]], 2)
        return prompts, [[5, 6], [5]], [[[-0.1], [-0.2]], [[-0.3]]], None

    backend = SimpleNamespace(generate=generate)
    trainer = SimpleNamespace(use_vllm=True, vllm_generation=backend)
    assert sample(trainer, [[1], [1]], print, n_alike=2) == ([[5, 6], [5]], [[-0.1, -0.2], [-0.3]])
