"""A .gguf base model is dequantized into weights that can be trained and saved."""

import numpy as np
import pytest

pytest.importorskip("gguf")
pytest.importorskip("peft")

import gguf
from tests.host.train import tiny

from kernelwright.core.errors import UsageError
from kernelwright.train.model import adapter, open_model, open_tokenizer, write
from kernelwright.train.recipes import recipe

WIDTH, INNER, WORDS = 32, 64, 96


@pytest.fixture
def file(tmp_path):
    """A one-layer llama model, quantized to eight bits."""
    draw = np.random.default_rng(0)
    told = gguf.GGUFWriter(tmp_path / "tiny.gguf", "llama")
    told.add_block_count(1)
    told.add_context_length(128)
    told.add_embedding_length(WIDTH)
    told.add_feed_forward_length(INNER)
    told.add_head_count(2)
    told.add_head_count_kv(2)
    told.add_layer_norm_rms_eps(1e-5)
    told.add_rope_freq_base(10000.0)
    told.add_vocab_size(WORDS)
    square, wide = (WIDTH, WIDTH), (INNER, WIDTH)
    weights = {"token_embd": (WORDS, WIDTH), "output": (WORDS, WIDTH)}
    weights |= {f"blk.0.attn_{name}": square for name in ("q", "k", "v", "output")}
    weights |= {"blk.0.ffn_gate": wide, "blk.0.ffn_up": wide, "blk.0.ffn_down": (WIDTH, INNER)}
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, shape in weights.items():
        blocks = gguf.quantize(draw.standard_normal(shape, dtype=np.float32), kind)
        told.add_tensor(f"{name}.weight", blocks, raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        told.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    told.write_header_to_file()
    told.write_kv_data_to_file()
    told.write_tensors_to_file()
    told.close()
    return tmp_path / "tiny.gguf"


def test_a_stage_begins_with_a_gguf_and_ends_with_a_checkpoint(file, tmp_path):
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    words = tiny.tokenizer()
    model = open_model(str(file), words, is_frozen=True)
    before = model.model.embed_tokens.weight.detach().clone()
    assert before.is_floating_point() and before.shape == (WORDS, WIDTH)
    told = recipe("sft", model=str(file), out=str(tmp_path), archive="", device="cpu")
    write(get_peft_model(model, adapter(told)), words, tmp_path / "model", tmp_path / "adapter")
    after = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert after.model.embed_tokens.weight.equal(before)


@pytest.mark.parametrize("name", ["missing.gguf", "./missing", "kernelwright-out/train/sft/model"])
def test_a_model_that_is_not_here_is_not_asked_of_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no such file or folder"):
        open_tokenizer(name)
