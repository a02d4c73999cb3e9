"""Answers token by token: what is recorded says what transformers' own loop says."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from kernelwright.propose.swarm import decode  # noqa: E402

END = 7


@pytest.fixture(scope="module")
def model():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    told = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return Qwen2ForCausalLM(Qwen2Config(**told, **heads)).eval()


@pytest.fixture
def read():
    """Two prompts, the shorter one filled up on the left."""
    ids = torch.tensor([[0, 0, 0, 11, 12, 13], [21, 22, 23, 24, 25, 26]])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def test_each_token_is_what_generate_says(model, read):
    def likeliest(logits):
        return logits.argmax(-1)

    written = decode.recorded(model, read, limit=20, draw=likeliest, stops=[END])
    theirs = model.generate(**read, max_new_tokens=20, do_sample=False, eos_token_id=END,
                            pad_token_id=0)  # fmt: skip
    assert written == [decode.to_end(row, [END]) for row in theirs[:, 6:].tolist()]


def test_an_answer_ends_with_its_end_and_with_the_time(model, read):
    def end(logits):
        return torch.full(logits.shape[:1], END)

    assert decode.recorded(model, read, limit=40, draw=end, stops=[3, END]) == [[END], [END]]

    def other(logits):
        return torch.full(logits.shape[:1], 5)

    cut = decode.recorded(model, read, limit=90, draw=other, stops=[END], until_s=0.0)
    assert cut == [[5] * decode.LOOK_EVERY] * 2


def test_a_draw_keeps_to_the_likeliest_that_come_to_top_p():
    torch.manual_seed(0)
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    whole = decode.Draw(1.0, n_top=0)(logits).bincount(minlength=4) / 4000
    assert torch.allclose(whole, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.04)
    some = decode.Draw(1.0, n_top=3, top_p=0.6)(logits).bincount(minlength=4) / 4000
    assert torch.allclose(some, torch.tensor([5 / 8, 3 / 8, 0.0, 0.0]), atol=0.04)
    assert decode.Draw(1.0, n_top=0, top_p=0.6)(logits).max() == 1
    assert decode.Draw(0.01, n_top=0)(logits).eq(0).all()
