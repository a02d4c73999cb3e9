"""An exported layer in the hands of Hugging Face's own libraries."""

import sys
import warnings

import pytest
import torch
from tests.host.shipping.conftest import MODEL, emitted, receipt_of
from torch import nn

import kernelwright as kw
from kernelwright.loaders.training_step import training_step
from kernelwright.shipping.check import check

kernels = pytest.importorskip("kernels")
ON_CPU = "the kernels do not serve"


class Block(nn.Sequential):
    """Layers, as an object that no text makes."""


def kernelized(module, package, layer, mode=None):
    """The module with the packaged layer in the place of its class's forward."""
    mode = mode or kernels.Mode.INFERENCE
    repository = kernels.LocalLayerRepository(package, layer_name=layer)
    kernels.replace_kernel_forward_from_hub(type(module), layer)
    with kernels.use_kernel_mapping({layer: {"cpu": {mode: repository}}}):
        return kernels.kernelize(nn.Sequential(module), mode=mode, device="cpu")


def kernel_of(receipt, backend="cpu"):
    """The file of the package that ``kernels`` has imported."""
    digest = receipt.candidate.digest.removeprefix("b2:")[:10]
    (name,) = [n for n in sys.modules if n.endswith(f"_{backend}_{digest}.kernel")]
    return sys.modules[name]


def test_kernelize_gives_a_model_the_kernels(packages, receipt):
    model = MODEL["Model"](128, 1.5).eval()
    x = torch.randn(64, 128)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model(x)
        served = kernelized(model, packages["hf"], "Gate")
        torch.testing.assert_close(served(x), expected)
    with torch.no_grad():
        assert not isinstance(kernel_of(receipt)._launches_for(model, x), str)
    assert kernel_of(receipt).misses_of(model) == {}


def test_a_call_that_the_kernels_are_not_made_for_takes_the_models_own_forward(packages, receipt):
    other = MODEL["Model"](128, 0.25).eval()  # the kernels have another slope in them
    x = torch.randn(64, 128)
    with torch.no_grad():
        expected = other(x)
        served = kernelized(other, packages["hf"], "Gate")
        with pytest.warns(UserWarning, match="slope of gate is 0.25, and was 1.5"):
            assert torch.equal(served(x), expected)
        fitting = kernelized(MODEL["Model"](128, 1.5).eval(), packages["hf"], "Gate")
        with pytest.warns(UserWarning, match="x is not of the shape"):
            assert fitting(x.double()).dtype is torch.float64
    with pytest.warns(UserWarning, match="gradients are wanted"):
        fitting(x).sum().backward()
    assert fitting[0].weight.grad is not None


@pytest.mark.skipif(torch.__version__ < "2.13", reason="older ones cannot look at the module")
def test_a_kernelized_model_compiles_as_one_graph(packages):
    model = MODEL["Model"](128, 1.5).eval()
    x = torch.randn(64, 128)
    with torch.no_grad():
        expected = model(x)
        mode = kernels.Mode.INFERENCE | kernels.Mode.TORCH_COMPILE
        served = torch.compile(kernelized(model, packages["hf"], "Gate", mode), fullgraph=True)
        torch.testing.assert_close(served(x), expected)


def test_training_refuses_a_layer_without_gradients(packages):
    with pytest.raises(ValueError, match="does not support backward"):
        kernelized(MODEL["Model"](128, 1.5), packages["hf"], "Gate", kernels.Mode.TRAINING)


def test_a_layer_with_its_own_backward_trains(task, tmp_path):
    step = training_step(task)
    package = kw.export(receipt_of(step, emitted(step)), to="hf", out=tmp_path / "gate")
    model = MODEL["Model"](128, 1.5)
    x = torch.randn(64, 128)
    model(x).square().mean().backward()
    expected, model.weight.grad = model.weight.grad, None
    served = kernelized(model, package, "GateTraining", kernels.Mode.TRAINING)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=ON_CPU)
        result = served(x)
    assert "Trained" in type(result.grad_fn).__name__
    result.square().mean().backward()
    torch.testing.assert_close(model.weight.grad, expected)


@pytest.mark.parametrize("to", ["op", "hf"])
def test_a_packaged_training_step_is_judged_as_one(task, tmp_path, to):
    step = training_step(task)
    package = kw.export(receipt_of(step, emitted(step)), to=to, out=tmp_path / to)
    found = check(package, {"threads": 1, "device": "cpu", "timed": False})
    assert found.rightness == "right", found.why


def test_the_norms_of_a_llama_are_served(tmp_path):
    transformers = pytest.importorskip("transformers")
    if not transformers.utils.import_utils.is_kernels_available():
        pytest.skip("this version of transformers takes other versions of kernels")
    from transformers import LlamaConfig, LlamaForCausalLM

    name = "transformers.models.llama.modeling_llama:LlamaRMSNorm"
    task = kw.load(name, inputs=["float32[2,16,64]"], init=[64, 1e-6])
    receipt = receipt_of(task, emitted(task))
    package = kw.export(receipt, to="hf", out=tmp_path / "norm", name="norm")
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100}
    model = LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    tokens = torch.randint(100, (2, 16))
    repository = kernels.LocalLayerRepository(package, layer_name="Norm")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message=ON_CPU)
        expected = model(tokens).logits
        mode = kernels.Mode.INFERENCE
        with kernels.use_kernel_mapping({"RMSNorm": {"cpu": {mode: repository}}}):
            kernels.kernelize(model, mode=mode, device="cpu")
        torch.testing.assert_close(model(tokens).logits, expected)
        norm = model.model.norm
        assert norm.forward.__func__ is not type(norm).forward
        given = torch.randn(2, 16, 64)
        assert not isinstance(kernel_of(receipt)._launches_for(norm, given), str)


def test_a_module_that_was_given_as_an_object_ships_too(tmp_path):
    module = Block(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32)).eval()
    task = kw.load(module, inputs=[torch.randn(8, 16)])
    receipt = receipt_of(task, emitted(task))
    package = kw.export(receipt, to="hf", out=tmp_path / "own", name="own_block")
    x = torch.randn(8, 16)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message=ON_CPU)
        expected = module(x)
        served = kernelized(module, package, "OwnBlock")
        torch.testing.assert_close(served(x), expected)
