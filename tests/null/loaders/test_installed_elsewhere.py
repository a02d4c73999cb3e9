"""Packages that pip installed outside of site-packages, as with ``--target``."""

import torch
from torch import nn

from kernelwright.judge.sandbox.isolation import visible_folders
from kernelwright.loaders import load


def test_packages_outside_of_site_packages_are_imported_and_not_pickled(tmp_path, monkeypatch):
    target = tmp_path / "target"
    (target / "scaled").mkdir(parents=True)
    (target / "scaled" / "__init__.py").write_text("def doubled(x):\n    return 2 * x\n")
    (target / "scaled-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(target)
    import scaled

    class Doubled(nn.Module):
        def forward(self, x):
            return scaled.doubled(x)

    task = load(Doubled(), inputs=[torch.randn(3, 8)])
    assert str(target) not in task.import_roots
    assert str(target) in visible_folders()


def test_the_working_folder_is_the_users_own(tmp_path, monkeypatch):
    (tmp_path / "mine-1.0.dist-info").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert str(tmp_path) not in visible_folders()
