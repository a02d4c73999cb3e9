"""Exported GPU kernels in the hands of kernels and transformers."""

import warnings

import pytest
import torch
from tests.host.shipping.conftest import GATE, MODEL, receipt_of
from tests.host.shipping.test_layers import kernel_of

import kernelwright as kw
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.proposers.rules import RulesProposer
from kernelwright.shipping.check import check

kernels = pytest.importorskip("kernels")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


def shipped(task, dialect, out, **asked):
    """The package of the first kernel in a dialect, and its receipt."""
    device = "cuda:sm_{}{}".format(*torch.cuda.get_device_capability())
    brief = Brief(task, Device.parse(device), (dialect,))
    candidate = next(iter(RulesProposer().propose(brief))).candidate
    receipt = receipt_of(task, candidate, environment=Environment(device, {}))
    return kw.export(receipt, out=out, **asked), receipt


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "gate.py"
    path.write_text(GATE)
    return kw.load(path)


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
def test_a_kernelized_module_runs_the_kernels(task, tmp_path, dialect):
    package, receipt = shipped(task, dialect, tmp_path / "gate", to="hf")
    assert (package / "build" / "torch-cuda" / "layers.py").exists()
    model = MODEL["Model"](128, 1.5).eval().cuda()
    x = torch.randn(64, 128, device="cuda")
    mode = kernels.Mode.INFERENCE
    repository = kernels.LocalLayerRepository(package, layer_name="Gate")
    kernels.replace_kernel_forward_from_hub(type(model), "Gate")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="the kernels do not serve")
        expected = model(x)
        with kernels.use_kernel_mapping({"Gate": {"cuda": {mode: repository}}}):
            kernels.kernelize(model, mode=mode, device="cuda")
        torch.testing.assert_close(model(x), expected)
        assert not isinstance(kernel_of(receipt, "cuda")._launches_for(model, x), str)


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
@pytest.mark.parametrize("to", ["op", "hf", "fib"])
def test_packages_of_gpu_kernels_are_judged(task, tmp_path, dialect, to):
    package, _ = shipped(task, dialect, tmp_path / "gate", to=to)
    found = check(package, {"device": "cuda", "timed": False, "threads": 1})
    assert found.rightness == "right", found.why


def test_transformers_serves_a_llama_with_a_local_package(tmp_path):
    transformers = pytest.importorskip("transformers")
    if not transformers.utils.import_utils.is_kernels_available():
        pytest.skip("this version of transformers takes other versions of kernels")
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100}
    plain = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes))
    plain = plain.to(torch.bfloat16).eval()
    plain.save_pretrained(tmp_path / "llama")
    hidden = torch.randn(2, 16, 64, dtype=torch.bfloat16)
    task = kw.load(plain.model.norm, inputs=[hidden])
    package, receipt = shipped(task, "triton", tmp_path / "norm", to="hf", name="norm")
    config = transformers.KernelConfig(
        {"RMSNorm": f"{package}:Norm"}, use_local_kernel=True, inherit_mapping=False
    )
    served = transformers.LlamaForCausalLM.from_pretrained(
        tmp_path / "llama",
        dtype=torch.bfloat16,
        device_map="cuda",
        use_kernels=True,
        kernel_config=config,
    )
    tokens = torch.randint(100, (2, 16), device="cuda")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="the kernels do not serve")
        expected = plain.cuda()(tokens).logits
        torch.testing.assert_close(served(tokens).logits, expected, atol=2e-2, rtol=2e-2)
        norm = served.model.norm
        given = hidden.cuda()
        assert not isinstance(kernel_of(receipt, "cuda")._launches_for(norm, given), str)
