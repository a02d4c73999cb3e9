"""The deployment files can be read by what they are for, as far as that is at hand.

`make deploy` brings the programs that are not: hadolint, shellcheck, and Kubernetes's schemas.
KubeRay's schema is read from a checkout of it, the folder KUBERAY.
"""

import os
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


def closed(schema):
    """The schema, refusing fields that it does not name, as Kubernetes does if it is asked to."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    has_names = "properties" in schema and "type" in schema  # and is no field of that name
    return {key: closed(value) for key, value in schema.items()} | (
        {"additionalProperties": False} if has_names else {}
    )


def test_kuberays_schema_accepts_the_manifest():
    jsonschema, yaml = pytest.importorskip("jsonschema"), pytest.importorskip("yaml")
    if "KUBERAY" not in os.environ:
        pytest.skip("needs KUBERAY, the folder of a checkout of ray-project/kuberay")
    bases = Path(os.environ["KUBERAY"]) / "ray-operator/config/crd/bases"
    definition = yaml.safe_load((bases / "ray.io_rayclusters.yaml").read_text())
    [schema] = [v["schema"] for v in definition["spec"]["versions"] if v["name"] == "v1"]
    manifest = read_yaml("kuberay.yaml")
    metadata = manifest.pop("metadata")  # Kubernetes's own, which this schema leaves open
    jsonschema.validate(manifest, closed(schema["openAPIV3Schema"]))
    assert metadata["name"]


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
