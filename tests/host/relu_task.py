"""A task small enough to be judged in a test, with a right and a wrong candidate."""

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
def get_inputs():
    return [torch.randn(512, 512)]
def get_init_inputs():
    return []
"""
RIGHT = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0).mul_(2).add_(1)
"""
WRONG = RIGHT.replace("mul_(2)", "mul_(2.001)")
