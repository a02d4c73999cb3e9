"""A node is lost in the middle: no work is lost or done twice, and the result is the same."""

import contextlib
import threading
import time
from collections import Counter

import pytest
from tests.host.relu_task import RIGHT, TASK, WRONG
from tests.host.swarm import candidates

from kernelwright import bench
from kernelwright.archive import Archive
from kernelwright.batch import judge_all, judge_folder
from kernelwright.batch.files import CandidateFile
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.suites.suite import suite_entries
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.cluster import ClusterWorkers
from kernelwright.workers.workers import LocalWorkers

pytest.importorskip("ray")
pytestmark = pytest.mark.slow
FOLDER = Task("relu", "folder", TASK)
FILES = [
    CandidateFile(f"{number}.py", Candidate(f"{text}# {number}\n", "torch"))
    for number, text in enumerate([RIGHT, WRONG] * 4)
]

LESSONS = [
    Task(f"times_{n}", "dataset", candidates.TASK.replace("* 2", f"* {n}")) for n in (2, 3, 4)
]
ANSWERS = [
    PolicyAnswer(task, "cpp", text, model="m")
    for task in LESSONS
    for text in (candidates.RIGHT, candidates.WRONG, "chatter")
]


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        found.add_node(num_cpus=1)
    yield found
    found.shutdown()


def settings_in(folder, name, **more):
    return Settings(archive=str(folder / f"{name}.sqlite"), out=str(folder), **more)


def verdicts(settings, tasks):
    """How often each candidate of the tasks came to a status."""
    with Archive(settings.archive) as archive:
        found = [one for task in tasks for one in archive.evaluations(task=task.digest)]
    return Counter((one.task, one.candidate, one.status.value) for one in found)


def with_a_lost_node(cluster, settings, tasks, work):
    """Do the work; a node is killed when the archive has its first verdict."""
    Archive(settings.archive).close()
    found = []
    with ClusterWorkers(cluster.address, device="cpu") as workers:
        thread = threading.Thread(target=lambda: found.append(work(workers)))
        thread.start()
        until = time.monotonic() + 300
        while not verdicts(settings, tasks) and thread.is_alive() and time.monotonic() < until:
            time.sleep(0.05)
        assert verdicts(settings, tasks) and thread.is_alive(), "the work ended before the loss"
        _kill_one(cluster)
        thread.join()
    return found[0]


def _kill_one(cluster):
    for node in list(cluster.worker_nodes):
        with contextlib.suppress(ValueError):  # this process may be connected through that node
            cluster.remove_node(node, allow_graceful=False)
            return
    raise AssertionError("no node could be removed")


def test_in_a_folder_of_candidates(cluster, tmp_path):
    here, there = (settings_in(tmp_path, name, timed=False) for name in ("here", "there"))
    judge_all(FOLDER, FILES, settings=here)

    def work(workers):
        return judge_folder(FOLDER, FILES, settings=there, workers=workers)

    batch = with_a_lost_node(cluster, there, [FOLDER], work)
    assert [file.evaluation.status.value for file in batch.files] == ["passed", "wrong_values"] * 4
    assert verdicts(there, [FOLDER]) == verdicts(here, [FOLDER])


def test_in_a_bench(cluster, tmp_path):
    (tmp_path / "tasks").mkdir()
    for n in (2, 3):
        (tmp_path / "tasks" / f"times_{n}.py").write_text(TASK.replace("* 2", f"* {n}"))
    entries = suite_entries("folder", device="cpu", path=tmp_path / "tasks")
    tasks = [entry.task for entry in entries]
    here, there = (
        settings_in(tmp_path, name, timed=False, budget_s=60.0, threads=1)
        for name in ("here", "there")
    )
    with LocalWorkers() as workers:
        bench.run(entries, settings=here, workers=workers, limit_s=600)

    def work(workers):
        return bench.run(entries, settings=there, workers=workers, limit_s=600)

    outcomes = with_a_lost_node(cluster, there, tasks, work)
    assert all(outcome.error is None and outcome.chapter for outcome in outcomes)
    assert verdicts(there, tasks) == verdicts(here, tasks)


def test_in_a_training_step(cluster, tmp_path):
    """With two nodes of one core the tasks of the lost one are judged by the other."""
    here, there = (settings_in(tmp_path, name, threads=1) for name in ("here", "there"))

    def judged(settings, workers):
        with RewardPool(settings, Device("cpu"), workers, timed=False) as pool:
            found = pool.judge(ANSWERS)
        return [each.evaluation and each.evaluation.status.value for each in found]

    with LocalWorkers() as workers:
        alone = judged(here, workers)
    together = with_a_lost_node(cluster, there, LESSONS, lambda workers: judged(there, workers))
    assert together == alone and alone[:3] == ["passed", "wrong_values", None]
    assert verdicts(there, LESSONS) == verdicts(here, LESSONS)
