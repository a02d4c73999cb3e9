"""Opens the workers that a command asks for."""

from __future__ import annotations

from kernelwright.core.errors import UsageError
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.slots import gpus_of, worker_slots
from kernelwright.workers.workers import LocalWorkers, Workers


def workers_for(device: str, asked: WorkersAsked, *, usual: int | None = None) -> Workers:
    """Return workers on the device; ``usual`` as for ``worker_slots``.

    Raises:
        UsageError: options that do not go together, or Ray is not installed.
        DeviceError: this machine has no such device.
    """
    if not asked.cluster:
        if asked.gpu_model:
            raise UsageError(
                "--gpu-model belongs to --cluster",
                seen=f"--gpu-model {asked.gpu_model}",
                do="set CUDA_VISIBLE_DEVICES to choose among this machine's GPUs",
            )
        slots = worker_slots(device, gpus=asked.gpus, jobs=asked.jobs, usual=usual)
        return LocalWorkers(slots, gpus=gpus_of(slots, device))
    if asked.gpus != "1":
        raise UsageError(
            "--gpus counts this machine's GPUs",
            seen=f"--gpus {asked.gpus} --cluster {asked.cluster}",
            do="give --jobs, or leave it out to use the whole cluster",
        )
    from kernelwright.workers.cluster import ClusterWorkers  # needs an extra

    return ClusterWorkers(asked.cluster, device=device, gpu_model=asked.gpu_model, jobs=asked.jobs)
