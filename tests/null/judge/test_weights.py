"""Weights that no initialiser makes, as bold as the reference bears."""

from functools import partial

import torch

from kernelwright.judge.perturb.weight_sets import constants, randomise_weights, randomised


def test_random_weights_change_signs_where_both_occur():
    layer, norm = torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)
    before = layer.weight.detach().clone()
    randomise_weights(layer, 7)
    randomise_weights(norm, 7)
    assert 0.3 < float((layer.weight.sign() != before.sign()).float().mean()) < 0.7
    assert bool((norm.weight > 0).all())


def test_filters_and_boundaries_that_need_no_gradient_stay():
    def made():
        module = torch.nn.Linear(8, 8)
        module.edges = torch.nn.Parameter(torch.linspace(0, 1, 64), requires_grad=False)
        module.scale = torch.nn.Parameter(torch.ones(8), requires_grad=False)
        module.drawn = torch.nn.Parameter(torch.rand(8), requires_grad=False)
        return module

    module = made()
    kept = constants(module, made)
    assert kept == {"edges"}
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 8)), kept)
    assert torch.equal(twin.edges, module.edges)
    assert all(bool((getattr(twin, n) != getattr(module, n)).any()) for n in ("scale", "drawn"))


def test_a_frozen_module_keeps_only_filters_of_few_distinct_values():
    def made():
        torch.manual_seed(7)  # as weights that come from a file
        module = torch.nn.Conv2d(1, 2, 3, bias=False)
        module.sobel = torch.nn.Parameter(torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]))
        return module.requires_grad_(False)

    assert constants(made(), made) == {"sobel"}


def test_an_identity_counts_only_where_there_are_no_weights():
    def made(*, is_alone=False):
        module = torch.nn.Module() if is_alone else torch.nn.Linear(8, 8)
        module.mix = torch.nn.Parameter(torch.eye(8))
        return module.requires_grad_(False)

    assert constants(made(), made) == frozenset()
    alone = partial(made, is_alone=True)
    assert constants(alone(), alone) == {"mix"}


def test_parameters_that_are_sorted_whatever_the_seed_stay():
    def made():
        module = torch.nn.Linear(8, 8)
        module.edges = torch.nn.Parameter(torch.randn(5, 8).sort().values)
        module.falling = torch.nn.Parameter(torch.linspace(1, -1, 8))
        module.scale = torch.nn.Parameter(torch.ones(8))
        return module

    assert constants(made(), made) == {"edges", "falling"}


def test_complex_weights_are_changed_in_both_parts():
    module = torch.nn.LayerNorm(64)
    module.scale = torch.nn.Parameter(torch.ones(64, dtype=torch.complex64))
    module.mix = torch.nn.Parameter(torch.eye(64, dtype=torch.complex64))
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 64)) * twin.scale @ twin.mix)
    assert bool((twin.scale.real < 0).any() and (twin.scale.imag != 0).all())
    assert bool((twin.mix.real != 0).all() and (twin.mix.imag != 0).all())


def test_parameters_of_one_sign_get_the_other_if_the_reference_accepts_it():
    module = torch.nn.LayerNorm(64)
    module.scale = torch.nn.Parameter(torch.rand(64) + 0.5)
    x = torch.randn(8, 64)
    twin = randomised(module, 7, lambda twin: twin(x) * twin.scale)
    assert 0.2 < float((twin.scale < 0).float().mean()) < 0.8
    twin = randomised(module, 7, lambda twin: twin(x) * twin.scale.log())
    assert bool((twin.scale > 0).all())


def test_two_numbers_have_both_signs():
    module = torch.nn.Module()
    for seed in range(16):
        module.scales = torch.nn.Parameter(torch.ones(2))
        module.shares = torch.nn.Parameter(torch.tensor([0.4, 0.6]))
        module.slopes = torch.nn.Parameter(torch.tensor([0.4, -0.6]))
        randomise_weights(module, seed, is_bold=True)
        for parameter in module.parameters():
            assert bool((parameter > 0).any() and (parameter < 0).any())


def test_rows_for_padding_stay_zeros():
    table = torch.nn.Embedding(9, 4, padding_idx=3)
    twin = randomised(table, 7, lambda twin: twin(torch.arange(9)))
    assert not bool(twin.weight[3].any()) and bool((twin.weight[4] != table.weight[4]).all())


def test_a_buffer_of_one_number_that_is_zero_or_one_becomes_another():
    module = torch.nn.Linear(4, 4)
    module.register_buffer("gate", torch.zeros(1))
    module.register_buffer("size", torch.full((), 3.0))
    twin = randomised(module, 7, lambda twin: twin(torch.randn(2, 4)) * twin.gate)
    assert float(twin.gate) > 0.1 and float(twin.size) == 3.0


def test_bold_weights_change_the_signs_of_scales_and_the_rows_of_a_frozen_norm():
    module = torch.nn.LayerNorm(64)
    module.register_buffer("shift", torch.zeros(64))
    module.register_buffer("kernel", torch.ones(3, 3))
    module.gamma = torch.nn.Parameter(torch.full((64,), 1e-6))
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 64)))
    assert bool((twin.weight > 0).any() and (twin.weight < 0).any())
    assert float(twin.gamma.detach().abs().max()) > 0.1
    assert bool((twin.shift != 0).all()) and bool((twin.kernel == 1).all())


def test_weights_are_not_bold_where_the_reference_takes_no_such():
    module = torch.nn.LayerNorm(64)
    twin = randomised(module, 7, lambda twin: twin.weight.log())
    assert bool((twin.weight > 0).all()) and bool((twin.weight != 1).all())
    assert bool((twin.weight < 0.1).any())  # a decay that is slow
    plain = torch.nn.ReLU()
    assert randomised(plain, 7, lambda twin: torch.ones(1)) is plain


def test_nothing_that_initialisers_leave_small_stays_so():
    module = torch.nn.Linear(64, 64)
    torch.nn.init.normal_(module.weight, std=1e-10)
    module.scale = torch.nn.Parameter(torch.tensor(1e-8))
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 64)))
    assert float(twin.weight.detach().abs().max()) > 0.03 and float(twin.scale.detach()) > 0.1


def test_zeros_of_an_identity_are_numbers_and_those_of_a_mask_are_not():
    module = torch.nn.Linear(64, 64)
    torch.nn.init.eye_(module.weight)
    module.mask = torch.nn.Parameter(torch.ones(64, 64).tril(), requires_grad=False)
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 64)))
    assert bool((twin.weight != 0).all())
    assert torch.equal(twin.mask == 0, module.mask == 0)


def test_one_weight_that_may_not_be_bold_keeps_no_other_from_it():
    module = torch.nn.Sequential(*(torch.nn.LayerNorm(64) for _ in range(5)))
    module[2].gamma = torch.nn.Parameter(torch.full((64,), 1e-6))
    twin = randomised(module, 7, lambda twin: twin(torch.randn(8, 64)) + twin[3].weight.sqrt())
    assert bool((twin[3].weight > 0).all()) and float(twin[2].gamma.detach().abs().max()) > 0.1
    assert all(bool((twin[n].weight < 0).any()) for n in (0, 1, 2, 4))


def test_random_weights_leave_no_identity_behind():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4))
    module.register_buffer("table", torch.arange(4.0))
    randomise_weights(module, 3)
    norm = module[0]
    for value, identity in ((norm.weight, 1), (norm.bias, 0), (norm.running_mean, 0)):
        assert (value != identity).all()
    assert (norm.running_var > 0).all()
    assert torch.equal(module.table, torch.arange(4.0))


class Deep(torch.nn.Module):
    """Residual linear layers with batch norms, in bfloat16."""

    def __init__(self, depth):
        super().__init__()
        self.linear = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(depth))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(32) for _ in range(depth))
        self.bfloat16().eval()

    def forward(self, x):
        for linear, norm in zip(self.linear, self.norms, strict=True):
            x = torch.relu(x + norm(linear(x)))
        return x


def test_small_variances_are_left_out_where_results_overflow_with_them():
    x = torch.randn(16, 32).bfloat16()
    for depth, has_small in ((1, True), (100, False)):
        module = Deep(depth)
        twin = randomised(module, 7, lambda one: one(x))
        least = min(float(norm.running_var.min()) for norm in twin.norms)
        assert (least < 0.1) == has_small
        pairs = zip(twin.state_dict().items(), module.state_dict().values(), strict=True)
        assert not [n for (n, a), b in pairs if "num_batches" not in n and torch.equal(a, b)]
