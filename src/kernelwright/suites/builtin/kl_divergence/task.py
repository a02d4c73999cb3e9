"""Distillation loss: the divergence of a student's distribution from its teacher's, per row."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (64, 300), "cpu": (1024, 2000), "gpu": (8192, 16000)}
ROWS, CLASSES = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, student, teacher):
        log_student = F.log_softmax(student / self.temperature, dim=-1)
        log_teacher = F.log_softmax(teacher / self.temperature, dim=-1)
        terms = F.kl_div(log_student, log_teacher, reduction="none", log_target=True)
        return terms.sum(dim=-1) * self.temperature**2


def get_inputs():
    return [torch.randn(ROWS, CLASSES) * 4.0, torch.randn(ROWS, CLASSES) * 2.0]


def get_init_inputs():
    return [2.0]
