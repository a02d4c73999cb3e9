"""A gradient that is not finite costs a step, but never the weights."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from types import SimpleNamespace  # noqa: E402

from kernelwright.core.errors import DeviceError  # noqa: E402
from kernelwright.train import recipe, stage  # noqa: E402
from kernelwright.train.watch import MOST_UNSOUND, Sound  # noqa: E402

STATE = SimpleNamespace(global_step=7, log_history=[{}])


def step(sound, model, optimizer, scale):
    optimizer.zero_grad()
    (scale * model(torch.ones(1, 2)).sum()).backward()
    sound.on_pre_optimizer_step(None, STATE, None, model=model)
    optimizer.step()
    return model.weight.detach().clone()


def test_a_step_without_a_finite_gradient_changes_no_weight():
    sound, model = Sound(), torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    first = step(sound, model, optimizer, 1.0)
    assert torch.equal(step(sound, model, optimizer, float("nan")), first)
    after = step(sound, model, optimizer, 1.0)
    assert after.isfinite().all()
    assert not torch.equal(after, first)
    logs = {}
    sound.on_log(None, STATE, None, logs=logs)
    assert logs == {"steps/skipped": 1}


def test_training_without_finite_gradients_ends_with_the_reason():
    sound, model = Sound(), torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(MOST_UNSOUND - 1):
        step(sound, model, optimizer, float("inf"))
    step(sound, model, optimizer, 1.0)  # one that is finite begins the count anew
    for _ in range(MOST_UNSOUND - 1):
        step(sound, model, optimizer, float("nan"))
    with pytest.raises(DeviceError, match="no longer produces finite gradients"):
        step(sound, model, optimizer, float("nan"))


def test_no_step_runs_the_attention_whose_gradients_are_nan_for_some_lengths(tmp_path):
    seen = []

    class Looks:
        def train(self, resume_from_checkpoint):
            seen.append(torch.backends.cuda.cudnn_sdp_enabled())

    before = torch.backends.cuda.cudnn_sdp_enabled()
    stage._train(Looks(), recipe("sft", model="m", out=str(tmp_path), archive=""))
    assert seen == [False] and torch.backends.cuda.cudnn_sdp_enabled() is before
