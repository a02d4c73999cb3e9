"""Rewrites the traced graph of its own blocks: one operation is replaced by two."""

import torch
from torch import fx, nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.add_module("0", nn.LayerNorm(width))
        self.add_module("1", nn.Linear(width, 2 * width))

    def forward(self, x):
        return functional.silu(getattr(self, "1")(getattr(self, "0")(x)))


def rewritten(block):
    graph = fx.symbolic_trace(block)
    for node in list(graph.graph.nodes):
        if node.target is functional.silu:
            with graph.graph.inserting_after(node):
                share = graph.graph.call_function(torch.sigmoid, (node.args[0],))
            with graph.graph.inserting_after(share):
                both = graph.graph.call_function(torch.mul, (node.args[0], share))
            node.replace_all_uses_with(both)
            graph.graph.erase_node(node)
    graph.recompile()
    return graph


class ModelNew(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(rewritten(Block(width)) for _ in range(depth))
        self.heads = nn.ModuleDict({"out": nn.Linear(2 * width, width)})

    def forward(self, x):
        for block in self.blocks:
            x = x + self.heads["out"](block(x))
        return x
