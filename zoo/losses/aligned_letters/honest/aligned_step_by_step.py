"""All texts at once, step by step."""

import torch
from torch import nn

NEVER = -1e30


def earlier(x, by):
    return nn.functional.pad(x, (by, 0), value=NEVER)[:, :-by]


class ModelNew(nn.Module):
    def forward(self, scores, letters):
        n_texts, n_letters = letters.shape
        places = letters.new_zeros(n_texts, 2 * n_letters + 1)
        places[:, 1::2] = letters
        may_skip = torch.zeros_like(places, dtype=torch.bool)
        may_skip[:, 3::2] = letters[:, 1:] != letters[:, :-1]
        told = scores.log_softmax(-1).gather(2, places.expand(len(scores), -1, -1))
        paths = torch.full_like(told[0], NEVER)
        paths[:, :2] = told[0, :, :2]
        for step in told[1:]:
            skipping = earlier(paths, 2).masked_fill(~may_skip, NEVER)
            paths = torch.stack([paths, earlier(paths, 1), skipping]).logsumexp(0) + step
        return -paths[:, -2:].logsumexp(-1)
