"""Work on a Ray cluster: two nodes that are processes of this machine."""

import os
import threading
import time
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path

import pytest

from kernelwright import bench
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.judge.devices.environment import Here
from kernelwright.suites.suite import suite_entries
from kernelwright.workers.cluster import ClusterWorkers, _the_same
from kernelwright.workers.cores import own_cores
from kernelwright.workers.resident_pool import ResidentPool
from kernelwright.workers.workers import Target

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def head():
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield found
    found.shutdown()


@pytest.fixture
def cluster(head):
    yield head
    for node in list(head.worker_nodes):
        head.remove_node(node)


@pytest.fixture
def workers(cluster):
    cluster.add_node(num_cpus=1)
    with ClusterWorkers(cluster.address, device="cpu") as found:
        yield found


def cores_of(fork_server):
    return sorted(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS")


def begin_and_wait(folder, fork_server):
    """Say that the work has begun, and wait; 'interrupted' if it is ended as by Ctrl-C."""
    Path(folder, f"begun-{time.monotonic_ns()}").touch()
    try:
        until = time.monotonic() + 60
        while not Path(folder, "go").exists() and time.monotonic() < until:
            time.sleep(0.05)
    except KeyboardInterrupt:
        Path(folder, "interrupted").touch()
        raise
    return "done"


def tell_twice(fork_server, on_step):
    on_step("half")
    on_step("whole")
    return os.environ.get("CXX")


def wait_for(folder, pattern, n=1):
    until = time.monotonic() + 90
    while not (are_there := len(list(folder.glob(pattern))) >= n) and time.monotonic() < until:
        time.sleep(0.05)
    return are_there


def in_thread(workers, folder):
    endings = []
    work = partial(begin_and_wait, str(folder))
    thread = threading.Thread(target=lambda: endings.append(workers.run(work)))
    thread.start()
    assert wait_for(folder, "begun-*")
    return thread, endings


def test_work_has_the_cores_that_it_asked_for_and_no_others(workers):
    cores, omp = workers.run(cores_of).value
    assert len(cores) == 1 and omp is None


def test_two_pieces_of_work_on_a_host_share_no_core():
    with own_cores(1) as one:
        if len(os.sched_getaffinity(0)) > 1:
            with own_cores(1) as other:
                assert not {*one} & {*other}


def test_what_a_lost_node_was_doing_is_done_by_another(cluster, workers, tmp_path):
    [lost] = cluster.worker_nodes
    thread, endings = in_thread(workers, tmp_path)
    cluster.add_node(num_cpus=1)
    cluster.remove_node(lost, allow_graceful=False)
    assert wait_for(tmp_path, "begun-*", n=2)
    (tmp_path / "go").touch()
    thread.join()
    assert [ending.value for ending in endings] == ["done"]


def test_ctrl_c_ends_what_runs_on_the_nodes(workers, tmp_path):
    thread, endings = in_thread(workers, tmp_path)
    workers.interrupt()
    thread.join()
    assert endings[0].is_interrupted and wait_for(tmp_path, "interrupted")


def test_steps_of_work_are_told_in_order_before_it_ends(workers):
    told = []
    workers.run(tell_twice, on_step=told.append)
    assert told == ["half", "whole"]


def test_a_node_that_joins_later_and_differs_gets_no_work(
    cluster, workers, tmp_path, monkeypatch, caplog
):
    """Its times would stand beside those of the others."""
    workers.target(Settings(archive=str(tmp_path / "a.sqlite")))
    [first] = cluster.worker_nodes
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho g++ 99.1\n")
    compiler.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("CXX", str(compiler))
        cluster.add_node(num_cpus=1)
    cluster.remove_node(first, allow_graceful=False)
    endings = []
    thread = threading.Thread(
        target=lambda: endings.append(workers.run(tell_twice, on_step=lambda step: None))
    )
    thread.start()
    until = time.monotonic() + 90
    while "gets no work" not in caplog.text and time.monotonic() < until:
        time.sleep(0.1)
    cluster.add_node(num_cpus=1)
    thread.join()
    assert "compiler" in caplog.text and "99.1 on this one" in caplog.text
    assert [ending.value for ending in endings] == [os.environ.get("CXX")]


def remember(word):
    os.environ["REMEMBERED"] = word


def remembered():
    return os.environ["REMEMBERED"]


def fail():
    raise UsageError("what", seen="seen", do="do")


def test_a_process_that_stays_is_replaced_where_its_node_is_lost(cluster, workers):
    pool = ResidentPool(lambda: workers.resident(remember, "it"), 1)
    resident = pool.wait_for("task")
    assert resident.submit(remembered).result() == "it"
    with pytest.raises(UsageError, match="what"):
        resident.submit(fail).result()
    [lost] = cluster.worker_nodes
    cluster.remove_node(lost, allow_graceful=False)
    until = time.monotonic() + 90
    while resident.state != "lost" and time.monotonic() < until:
        time.sleep(0.1)
    with pytest.raises(BrokenExecutor):
        resident.submit(remembered).result()
    assert pool.find("task") is None
    cluster.add_node(num_cpus=1)
    assert pool.wait_for("task").submit(remembered).result() == "it"
    pool.shutdown(remembered)


def test_an_error_with_which_a_process_that_stays_begins_is_raised(workers):
    pool = ResidentPool(lambda: workers.resident(fail), 1)
    with pytest.raises(UsageError, match="what"):
        pool.wait_for("task")
    pool.shutdown(remembered)


@pytest.mark.slow
def test_a_bench_on_a_cluster_resumes_as_on_one_machine(workers, tmp_path):
    entries = suite_entries("builtin", device="cpu", problems=["softmax"])
    settings = Settings(archive=str(tmp_path / "a.sqlite"), out=str(tmp_path), budget_s=2.0)
    [found] = bench.run(entries, settings=settings, workers=workers, limit_s=300)
    assert found.error is None and found.chapter is not None
    [again] = bench.run(entries, settings=settings, workers=workers, limit_s=300)
    assert again.earlier is not None


def test_a_cluster_that_is_not_there_is_an_error():
    with pytest.raises(DeviceError, match="no Ray cluster answers"):
        ClusterWorkers("127.0.0.1:1", device="cpu").__enter__()


def test_a_cluster_without_the_device_is_an_error(cluster):
    with pytest.raises(DeviceError, match="no node of the cluster has the device"):
        ClusterWorkers(cluster.address, device="cuda").__enter__()


def test_gpus_of_several_models_are_never_mixed(cluster):
    for model, n_gpus in (("H100", 1), ("H200", 2)):
        named = {f"accelerator_type:{model}": 1}
        cluster.add_node(num_cpus=n_gpus * 9, num_gpus=n_gpus, resources=named)
    cluster.add_node(num_cpus=0, num_gpus=1, resources={"accelerator_type:H200": 1})  # takes none
    with pytest.raises(UsageError, match="one model only"):
        ClusterWorkers(cluster.address, device="cuda").__enter__()
    with ClusterWorkers(cluster.address, device="cuda", gpu_model="H200") as workers:
        # Three cores for each search, as on one machine.
        assert (workers.n_devices, workers.jobs) == (2, 6)


def test_nodes_that_differ_are_named_with_what_differs():
    cpu = Device("cpu")
    targets = {name: Target(cpu, Here("cpu", {"torch": name})) for name in ("2.11", "2.13")}
    with pytest.raises(DeviceError, match="differ") as raised:
        _the_same(targets)
    assert "torch: 2.11 on the first, 2.13 on this one" in raised.value.seen
