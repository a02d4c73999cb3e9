"""The deployment files can be read by what they are for, as far as that is at hand.

`make deploy` brings the programs that are not: hadolint, shellcheck, and Kubernetes's schemas.
"""

import json
import shutil
import subprocess
import sys
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


def program(name):
    """A program beside this Python, or on the path; the test is skipped without it."""
    found = shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)
    return found or pytest.skip(f"needs {name}")


def test_shellcheck_has_nothing_to_say_about_the_slurm_script():
    subprocess.run([program("shellcheck"), DEPLOY / "slurm.sh"], check=True)


def test_hadolint_has_nothing_to_say_about_the_container_file():
    subprocess.run([program("hadolint"), DEPLOY / "Containerfile"], check=True)


def test_kuberays_schema_accepts_the_manifest():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(__file__).parent / "raycluster.schema.json").read_text())
    jsonschema.validate(read_yaml("kuberay.yaml"), schema)


def test_kubernetes_accepts_the_pods_of_the_manifest():
    kubernetes = pytest.importorskip("kubernetes_validate")
    cluster = read_yaml("kuberay.yaml")["spec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}
        kubernetes.validate(pod | {"spec": group["template"]["spec"]}, "1.30", strict=True)


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
