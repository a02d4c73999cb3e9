"""A task that is random in training mode only is judged in eval mode, candidates included."""

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import WarningCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.tuner.question import question_of

TASK = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 16)
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, x):
        return self.drop(self.layer(x)).softmax(1)

def get_inputs():
    return [torch.randn(64, 32)]

def get_init_inputs():
    return []
"""


def test_a_candidate_with_dropout_of_its_own_passes_and_is_told_of_the_mode(fork_server):
    task = Task("dropout", "kernelbench", TASK)
    candidate = Candidate(TASK.replace("class Model(", "class ModelNew("), "torch")
    with Judge(task, settings=Settings(threads=2), fork_server=fork_server) as judge:
        verdict = judge.evaluate(candidate, timed=False)
        asked = question_of(judge)
    assert verdict.passed, verdict.why
    assert WarningCode.EVAL_MODE in {one.code for one in verdict.warnings}
    assert asked is not None
    assert asked.task.mode == judge.judged_task.mode == "eval"
    assert judge.task == task
