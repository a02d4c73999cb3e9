"""The train command reports missing requirements before any work."""

import json

import pytest

MODEL = ("--model", "m")
WRONG = {
    "a stage that does not exist": (["sfft", *MODEL], "sft"),
    "no model": (["sft"], "--help"),
    "sft without a dataset": (["sft", *MODEL], "kernelwright dataset build"),
    "a budget in tokens": (["contrastive", *MODEL, "--budget", "5ktok"], "60m"),
    "an unknown preset": (["contrastive", *MODEL, "--preset", "cuda-l2"], "cuda-l1"),
    "a rate that is no number": (["sft", *MODEL, "--learning-rate", "nan"], "0 to 1"),
    "a seed that no generator takes": (["sft", *MODEL, "--seed", "-1"], "from 0"),
    "an option of another stage": (["sft", *MODEL, "--group", "4"], "leave them out"),
    "an option of sft": (["selfsup", *MODEL, "--epochs", "4"], "selfsup has --advantage"),
    "an unknown reward": (["contrastive", *MODEL, "--reward", "sped"], "speed"),
    "no vLLM": (["selfsup", *MODEL, "--vllm", "localhost:8000"], "colocate"),
    "nothing to compare an answer with": (["selfsup", *MODEL, "--group", "1"], "2 or more"),
    "a dataset that is not there": (
        ["sft", *MODEL, "--dataset", "x"],
        "kernelwright dataset build",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_of_train_is_one_error_with_a_remedy(run, case):
    words, remedy = WRONG[case]
    code, out, err = run("train", *words)
    assert (code, out) == (2, "")
    assert err.count("  do: ") == 1 and remedy in err.partition("  do: ")[2]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "missing", "remedy"),
    [((), "trl", "kernelwright[train]"), (("--vllm", "colocate"), "vllm", "trl[vllm]")],
)
def test_without_the_packages_the_error_names_the_extra(run, monkeypatch, words, missing, remedy):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *a: name != missing or None)
    code, _, err = run("train", "contrastive", *MODEL, *words)
    assert code == 2 and missing in err and remedy in err


def test_a_stage_is_kept_with_its_recipe_and_refuses_another(run, monkeypatch, tmp_path):
    monkeypatch.setattr("kernelwright.train.model.need_packages", lambda recipe: None)
    folder = tmp_path / "kernelwright-out" / "train" / "contrastive"
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps({"stage": "contrastive", "model": "other"}))
    code, _, err = run("train", "contrastive", *MODEL)
    assert code == 2 and "'other', now 'm'" in err and "--out" in err
    (folder / "recipe.json").write_text("[")
    code, _, err = run("train", "contrastive", *MODEL)
    assert code == 2 and "damaged" in err and "--out" in err


def test_settings_of_the_folder_apply_to_training(run, monkeypatch, tmp_path):
    """The settings show in the comparison with a stage that was begun with other ones."""
    monkeypatch.setattr("kernelwright.train.model.need_packages", lambda recipe: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernelwright.toml").write_text('out = "elsewhere"\ndialects = ["triton"]\n')
    folder = tmp_path / "elsewhere" / "train" / "contrastive"
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps({"stage": "contrastive", "model": "m"}))
    _, _, err = run("train", "contrastive", *MODEL)
    assert "dialects [], now ['triton']" in err or "dialects (), now ['triton']" in err
