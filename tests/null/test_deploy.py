"""The deployment files can be read by what they are for, as far as that is at hand."""

import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def read_yaml(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / name).read_text())


def test_the_slurm_script_is_bash_with_long_options_of_sbatch():
    path = DEPLOY / "slurm.sh"
    subprocess.run(["bash", "-n", path], check=True)
    options = [line for line in path.read_text().splitlines() if line.startswith("#SBATCH")]
    assert len(options) == 7 and all(line.split()[1].startswith("--") for line in options)


def test_the_kubernetes_manifest_asks_for_what_the_judge_needs():
    [group] = read_yaml("kuberay.yaml")["spec"]["workerGroupSpecs"]
    pod = group["template"]["spec"]
    [container] = pod["containers"]
    assert pod["hostIPC"] is True
    assert container["securityContext"]["capabilities"]["add"] == ["SYS_ADMIN"]
    assert container["resources"]["limits"] == container["resources"]["requests"]


def test_rays_own_schema_accepts_its_file():
    autoscaler = pytest.importorskip("ray.autoscaler._private.util")
    autoscaler.validate_config(autoscaler.prepare_config(read_yaml("ray.yaml")))
