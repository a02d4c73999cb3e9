"""The error of training if the GPU has too little memory."""

import pytest
import torch

from kernelwright.core.errors import DeviceError
from kernelwright.train import recipe, stage

SAID = (
    "CUDA out of memory. Tried to allocate 600.00 MiB. GPU 0 has a total capacity of 79.18 GiB of "
    "which 500.19 MiB is free. Including non-PyTorch memory, this process has 78.68 GiB in use."
)


class Full:
    def train(self, resume_from_checkpoint):
        raise torch.OutOfMemoryError(SAID)


@pytest.mark.parametrize("recompute", [True, False])
def test_too_little_gpu_memory_is_a_device_error_with_remedies(tmp_path, recompute):
    told = recipe("sft", model="m", out=str(tmp_path), archive="", recompute=recompute)
    with pytest.raises(DeviceError, match="too little memory") as raised:
        stage._train(Full(), told)
    text = str(raised.value)
    assert "--batch" in text and "500.19 MiB is free" in text and "non-PyTorch" not in text
    assert ("--no-recompute" in text) is not recompute
