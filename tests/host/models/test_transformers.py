"""Models of transformers and diffusers get kernels, compute the same, and can still be used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
import torch
from benchmarks.whole_models import made
from tests.host.compiler.test_candidates import cache_folder, proposals
from tests.null.swarm.briefs import verdict

import kernelwright as kw
from kernelwright.core.evaluation import Ratio
from kernelwright.core.settings import Settings, load_settings
from kernelwright.core.task import Task
from kernelwright.models.accelerate import Accelerated, Acceleration
from kernelwright.models.forms import as_eager
from kernelwright.models.gate import Gate
from kernelwright.models.given import Given
from kernelwright.models.profile import Group
from kernelwright.models.swap import Swapped, take_out
from kernelwright.models.whole import WholeModel
from kernelwright.search.result import Result

__all__ = ["cache_folder"]

pytest.importorskip("transformers")


class Untimed(WholeModel):
    """The whole model without a clock: kernels always pay."""

    def make_plain(self) -> None:
        pass

    def brought(self, kernels: Mapping[str, Swapped], before: Collection[str] = ()) -> Ratio:
        return Ratio(2.0, 2.0, 2.0)

    def time_all(self, kernels: Mapping[str, Swapped]) -> dict[str, list[int]]:
        return {"eager": [2], "kernels": [1]}


class FirstCandidates(Acceleration):
    """Puts in what the rules propose first, without a search or a clock.

    It is said to be a little slower than the library alone, so it must show itself in the model.
    """

    def __init__(self, given: Given, kind: str, folder: Path) -> None:
        settings = load_settings(folder, device="cpu", budget_s=600, out=str(folder))
        super().__init__(given, settings, self.first, on_miss="raise")
        self.whole = Untimed(given, budget_s=600, clock_s=1)
        self.kind = kind

    def why_skipped(self, group: Group, left_s: float) -> str:
        return "" if group.kind == self.kind else "not asked for"

    def first(self, task: Task, settings: Settings) -> Result:
        judged = [(found, verdict(found.candidate, 0.95)) for found in proposals(task)[:1]]
        return Result(task, None, None, judged, "eager", None, "")


KINDS = {
    "llama_decode": "LlamaDecoderLayer",
    "mixtral": "MixtralDecoderLayer",
    "mamba": "MambaBlock",
    "bert": "BertLayer",
    "whisper": "WhisperEncoderLayer",
    "resnet50": "ResNetConvLayer",
    "dit": "DiTBlock",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_the_layers_of_a_model_are_served_by_kernels(name, kind, tmp_path) -> None:
    given = Given(*made(name, True, "cpu"))
    gate = Gate(given)
    found = FirstCandidates(given, kind, tmp_path).run()
    assert not [step.why for step in found.steps if step.outcome == "failed"]
    assert "kept" in {step.outcome for step in found.steps}
    expected = given.run(given.model)
    assert not gate.compare(expected).why_refused and kw.misses(given.model) == {}
    folder = found.save(tmp_path / "saved")
    take_out(given.model, found.kernels)
    assert not is_served(given)
    kw.load_accelerated(given.model, folder, on_miss="raise")
    with as_eager():  # told that it is compiled, a model gives its layers masks
        outputs = given.run(torch.compile(given.model, backend="eager"))
    assert type(outputs) is type(expected) and not gate.compare(outputs).why_refused


def is_served(given: Given) -> bool:
    return any("forward" in vars(module) for module in given.model.modules())


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> tuple[Given, Accelerated]:
    given = Given(*made("llama_prefill", True, "cpu"))
    folder = tmp_path_factory.mktemp("llama")
    found = FirstCandidates(given, "LlamaDecoderLayer", folder).run()
    (step,) = (step for step in found.steps if step.outcome == "kept")
    assert len(step.group.paths) == 2 and kw.misses(given.model) == {}
    for path in found.kernels:
        vars(given.model.get_submodule(path))["on_miss"] = "silent"
    return given, found


def test_generate_works_and_gives_the_same_tokens(llama) -> None:
    given, _ = llama
    plain, _ = made("llama_prefill", True, "cpu")
    arguments = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    ids = given.named["input_ids"]
    assert torch.equal(given.model.generate(ids, **arguments), plain.generate(ids, **arguments))


def test_an_accelerated_model_trains_on_its_own_code(llama) -> None:
    given, _ = llama
    ids = given.named["input_ids"]
    given.model(ids, labels=ids).loss.backward()
    weights = given.model.model.layers[0].parameters()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in weights)
    given.model.zero_grad()


def test_kernels_are_loaded_in_another_process(llama, tmp_path) -> None:
    given, found = llama
    folder = found.save(tmp_path / "saved")
    torch.save(given.run(given.model).logits, tmp_path / "logits.pt")
    text = f"""
import torch, kernelwright as kw
from benchmarks.whole_models import made
model, inputs = made("llama_prefill", True, "cpu")
kw.load_accelerated(model, {str(folder)!r}, on_miss="raise")
with torch.no_grad():
    logits = model(**inputs).logits
torch.testing.assert_close(logits, torch.load({str(tmp_path / "logits.pt")!r}))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True)


def test_weights_tied_to_the_embedding_stay_tied(llama, tmp_path) -> None:
    import transformers

    given, found = llama
    config = transformers.LlamaConfig(
        **given.model.config.to_dict() | {"tie_word_embeddings": True}
    )
    torch.manual_seed(0)
    tied = transformers.LlamaForCausalLM(config).eval()
    expected = given.run(tied).logits
    kw.load_accelerated(tied, found.save(tmp_path / "saved"), on_miss="raise")
    assert tied.lm_head.weight is tied.model.embed_tokens.weight
    torch.testing.assert_close(given.run(tied).logits, expected)


def test_a_failure_leaves_the_model_as_it_was(tmp_path) -> None:
    class Stopped(FirstCandidates):
        def measure(self) -> None:
            assert is_served(self.given)
            raise RuntimeError("the machine is on fire")

    given = Given(*made("resnet50", True, "cpu"))
    with pytest.raises(RuntimeError, match="on fire"):
        Stopped(given, "ResNetConvLayer", tmp_path).run()
    assert not is_served(given)
