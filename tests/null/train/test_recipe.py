"""Recipes: their checks, and that a stage only resumes with the same recipe."""

import json
from dataclasses import replace

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.train import recipe
from kernelwright.train.recipes import FILE_NAME, keep, require_same


@pytest.fixture
def told(tmp_path):
    return recipe("contrastive", model="m", out=str(tmp_path), archive="a.sqlite", group=4)


def test_presets_differ_where_the_papers_do():
    common = {"model": "m", "out": "o", "archive": "a"}
    ours = recipe("contrastive", "cuda-l1", **common)
    theirs = recipe("contrastive", "autotriton", **common)
    assert (ours.reward, ours.exemplars, ours.advantage) == ("speed", 2, "clipped")
    assert (theirs.reward, theirs.exemplars, theirs.advantage) == ("right", 0, "scaled")
    plain = recipe("contrastive", "plain", **common)
    assert plain == replace(ours, exemplars=0)
    assert recipe("contrastive", "autotriton", reward="milestone", **common).reward == "milestone"


def test_a_stage_resumes_with_more_time_but_not_with_another_reward(told):
    keep(told, [])
    require_same(replace(told, budget_s=7.0, steps=9, vllm="colocate"), [])
    with pytest.raises(UsageError, match="reward 'speed', now 'right'"):
        require_same(replace(told, reward="right"), [])


def test_a_stage_begun_by_an_earlier_version_resumes(told):
    keep(told, [])
    path = told.folder / FILE_NAME
    there = json.loads(path.read_text())
    lacking = ("turns", "dataset")
    path.write_text(json.dumps({name: told for name, told in there.items() if name not in lacking}))
    require_same(told, [])
    with pytest.raises(UsageError, match="turns 1, now 2"):
        require_same(replace(told, turns=2), [])


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"stage": "sfft"}, "sft"),
        ({"preset": "cuda-l2"}, "cuda-l1"),
        ({"reward": "mile"}, "milestone"),
        ({"group": 1}, "2 or more"),
        ({"turns": 0}, "1 or more"),
        ({"judge": "quick"}, "full"),
        ({"audit": 1.5}, "from 0 to 1"),
        ({"audit": -0.1}, "from 0 to 1"),
        ({"audit": float("nan")}, "from 0 to 1"),
        ({"judge": "fast", "reward": "milestone"}, "--judge full"),
        ({"vllm": "there"}, "colocate"),
        ({"vllm": "colocate", "model": "dir/m.gguf"}, "a checkpoint's folder"),
    ],
)
def test_a_wrong_name_gets_the_nearest_one(wrong, remedy):
    words = {"stage": "contrastive", "model": "m", "out": "o", "archive": "a"} | wrong
    with pytest.raises(UsageError, match=remedy):
        recipe(words.pop("stage"), words.pop("preset", "cuda-l1"), **words)


def test_sft_accepts_any_model_because_it_needs_no_vllm(told):
    assert replace(told, stage="sft", model="m.gguf", vllm="colocate").model == "m.gguf"


@pytest.mark.parametrize("url", ["http://me:hunter2@host:8000", "http://host/?api_key=hunter2"])
def test_a_password_in_a_url_is_refused_and_not_shown(told, url):
    with pytest.raises(UsageError, match="contains a secret") as raised:
        replace(told, vllm=url)
    assert "hunter2" not in str(raised.value)


def test_all_weights_learn_slower_than_an_adapter_and_reinforcement_slower_than_lessons(told):
    lessons = replace(told, stage="sft")
    assert replace(told, rank=0).rate < told.rate < lessons.rate
    assert replace(told, learning_rate=0.5).rate == 0.5


def test_the_archives_password_is_not_stored_with_the_recipe(told):
    told = replace(told, archive="postgresql://me:hunter2@host/kernels")
    keep(told, [])
    assert "hunter2" not in (told.folder / FILE_NAME).read_text()
    require_same(told, [])
