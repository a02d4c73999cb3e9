"""Decoding with a recorded step gives the same tokens as transformers' own loop."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from kernelwright.llm import decode, grouped_query  # noqa: E402

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
    """Two prompts, the shorter one padded on the left."""
    ids = torch.tensor([[0, 0, 0, 11, 12, 13], [21, 22, 23, 24, 25, 26]])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def test_recorded_tokens_equal_those_of_generate(model, read):
    def likeliest(logits):
        return logits.argmax(-1)

    written = decode.recorded(model, read, limit=20, draw=likeliest, stops=[END])
    theirs = model.generate(**read, max_new_tokens=20, do_sample=False, eos_token_id=END,
                            pad_token_id=0)  # fmt: skip
    theirs = [[*row, END] for row in theirs[:, 6:].tolist()]
    assert written == [row[: min(row.index(END) + 1, 20)] for row in theirs]


def test_shared_keys_are_not_copied_and_the_model_is_restored(model, read, monkeypatch):
    seen = []

    def spy(module, query, key, *rest, **told):
        seen.append((query.shape[1], key.shape[1]))
        return attend(module, query, key, *rest, **told)

    attend = grouped_query.attend
    monkeypatch.setattr(grouped_query, "attend", spy)
    decode.recorded(model, read, limit=3, draw=lambda logits: logits.argmax(-1), stops=[END])
    assert seen and set(seen) == {(4, 2)}
    assert model.config._attn_implementation == "sdpa"


def test_an_answer_ends_at_its_end_token_or_at_the_time_limit(model, read):
    def end(logits):
        return torch.full(logits.shape[:1], END)

    assert decode.recorded(model, read, limit=40, draw=end, stops=[3, END]) == [[END], [END]]

    def other(logits):
        return torch.full(logits.shape[:1], 5)

    cut = decode.recorded(model, read, limit=90, draw=other, stops=[END], until_s=0.0)
    assert cut == [[5] * decode.LOOK_EVERY] * 2


@pytest.mark.parametrize("by", ["graph", "generate"])
def test_finished_answers_are_reported_while_others_are_written(model, read, monkeypatch, by):
    torch.manual_seed(0)
    monkeypatch.setattr(decode, "is_recordable", lambda model: by == "graph")
    looks = []
    stops = [*range(1, 6)]
    draw = decode.Sampling(2.0, n_top=0)
    many = {name: rows.repeat(8, 1) for name, rows in read.items()}
    written = decode.write(model, many, limit=80, draw=draw, stops=stops, on_look=looks.append)
    told = {number: row for ended in looks for number, row in ended.items()}
    assert len(looks) > 1 and looks[0] and len(looks[0]) < 16
    assert all(written[number] == row and row[-1] in stops for number, row in told.items())
    assert sum(map(len, looks)) == len(told) <= len(written)
    for row in written:
        assert not set(row[:-1]) & set(stops) and (row[-1] in stops or len(row) == 80)


def test_sampling_keeps_the_likeliest_tokens_up_to_top_p():
    torch.manual_seed(0)
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    whole = decode.Sampling(1.0, n_top=0)(logits).bincount(minlength=4) / 4000
    assert torch.allclose(whole, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.04)
    some = decode.Sampling(1.0, n_top=3, top_p=0.6)(logits).bincount(minlength=4) / 4000
    assert torch.allclose(some, torch.tensor([5 / 8, 3 / 8, 0.0, 0.0]), atol=0.04)
    assert decode.Sampling(1.0, n_top=0, top_p=0.6)(logits).max() == 1
    assert decode.Sampling(0.01, n_top=0)(logits).eq(0).all()
