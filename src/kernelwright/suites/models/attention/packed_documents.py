"""Causal attention within the documents that a row of tokens is packed with, in Llama 3's heads."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {
    "small": (1, 4, 2, 64, 32, 3),
    "cpu": (1, 8, 2, 256, 64, 4),
    "gpu": (1, 32, 8, 4096, 128, 12),
}
BATCH, HEADS, KEY_HEADS, TOKENS, WIDTH, DOCUMENTS = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, query, key, value, documents):
        place = torch.arange(documents.shape[1], device=documents.device)
        seen = (place[:, None] >= place) & (documents[:, :, None] == documents[:, None])
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=seen[:, None], enable_gqa=True
        )


def get_inputs():
    heads = (HEADS, KEY_HEADS, KEY_HEADS)
    documents = torch.randint(0, DOCUMENTS, (BATCH, TOKENS)).sort(dim=1).values
    return [
        *(torch.randn(BATCH, n, TOKENS, WIDTH, dtype=torch.bfloat16) for n in heads),
        documents,
    ]


def get_init_inputs():
    return []
