"""A stage ended by its budget ends with a small learning rate, over any number of runs."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from kernelwright.train import recipe  # noqa: E402
from kernelwright.train.watch import Deadline  # noqa: E402

N_STEPS = 100


def begun(used_s, **told):
    """Return (deadline, schedule) of a run resumed after ``used_s`` of 100 seconds."""
    wanted = recipe("sft", model="m", out="o", archive="", budget_s=100.0, **told)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 5, N_STEPS)
    state = SimpleNamespace(log_history=[{"time/used_s": used_s}, {}], max_steps=N_STEPS)
    deadline = Deadline(wanted)
    deadline.on_train_begin(None, state, None, lr_scheduler=schedule)
    return deadline, schedule


def rates(schedule, n):
    found = []
    for _ in range(n):
        schedule.optimizer.step()
        schedule.step()
        found += schedule.get_last_lr()
    return found


def test_a_resumed_run_has_the_remaining_budget():
    for used_s, is_over in ((60.0, False), (101.0, True)):
        deadline, _ = begun(used_s)
        control = SimpleNamespace(should_training_stop=False)
        deadline.on_step_end(None, None, control)
        assert control.should_training_stop is is_over
    assert begun(50.0, steps=N_STEPS)[0].share == 0.0  # a number of steps is reached in any case


def test_the_learning_rate_follows_steps_or_time_whichever_is_ahead():
    by_steps = rates(begun(0.0)[1], 20)
    assert by_steps == rates(begun(100.0, steps=N_STEPS)[1], 20)  # which no time ends
    late = rates(begun(90.0)[1], 20)
    assert max(late) < 0.05 < by_steps[0] < by_steps[-1]
