"""Modules of transformers and diffusers, where these are installed: captured, right and served."""

from __future__ import annotations

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from tests.host.compiler.test_structures import alike, built

from kernelwright.loaders import load, open_reference

__all__ = ["cache_folder"]

LLAMA = "hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2"
X = "float32[2,12,64]"
CASES = {
    "transformers.models.llama.modeling_llama.LlamaDecoderLayer": (
        f"transformers.LlamaConfig({LLAMA}), layer_idx=0",
        {"hidden_states": X, "position_embeddings": "(float32[1,12,16], float32[1,12,16])"},
    ),
    "transformers.models.llama.modeling_llama.LlamaForCausalLM": (
        f"transformers.LlamaConfig({LLAMA}, vocab_size=32, num_hidden_layers=1, use_cache=False)",
        {"input_ids": "int64[2,12]<32"},
    ),
    "transformers.models.segformer.modeling_segformer.SegformerOverlapPatchEmbeddings": (
        "3, 2, 3, 16",
        {"pixel_values": "float32[2,3,16,16]"},
    ),
    "diffusers.models.resnet.ResnetBlock2D": (
        "in_channels=32, temb_channels=16, groups=4",
        {"input_tensor": "float32[2,32,8,8]", "temb": "float32[2,16]"},
    ),
}


@torch.no_grad()
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES, ids=lambda name: name.rpartition(".")[2])
def test_a_module_of_a_library_is_built_from_its_dotted_name(name, tmp_path):
    pytest.importorskip(name.partition(".")[0])
    init, inputs = CASES[name]
    task = load(name, inputs=inputs, init=init)
    reference = open_reference(task)
    module, given = reference.build(0), reference.inputs(0)
    fast = built(task, tmp_path, several=False)
    fast.load_state_dict(module.state_dict())
    assert fast.why_not(*given) == ""
    alike(fast(*given), module(*given))
    other = [value[:1] if isinstance(value, torch.Tensor) else value for value in given]
    alike(fast(*other), module(*other))
