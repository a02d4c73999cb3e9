"""Pass rates of the bench of programs: what was not tried is not counted as wrong."""

from kernelwright.bench.port_bench import ProgramOutcome, chosen, rates


def outcome(name, *, compiled=True, runs=((32, True), (64, True)), hazardous=False, on_nvidia=None):
    built = (("gfx942", compiled),) if compiled is not None else ()
    return ProgramOutcome(name, "scan", hazardous, built, runs, (), on_nvidia)


def test_rates_count_what_was_tried():
    found = rates(
        [
            outcome("a", on_nvidia=True),
            outcome("b", runs=((32, True), (64, False)), hazardous=True, on_nvidia=False),
            outcome("c", compiled=False, runs=()),
        ]
    )
    every = next(rate for rate in found if rate.part == "all")
    assert (every.n, every.compiled, every.ran_32, every.ran_64) == (3, 2, 2, 1)
    assert every.on_nvidia == 1
    hazards = next(rate for rate in found if rate.part == "with hazards")
    assert (hazards.n, hazards.ran_32, hazards.ran_64, hazards.on_nvidia) == (1, 1, 0, 0)


def test_a_rung_that_no_program_tried_has_no_rate():
    (rate, *_) = rates([outcome("a", compiled=None, runs=())])
    assert (rate.compiled, rate.ran_32, rate.ran_64, rate.on_nvidia) == (None,) * 4


def test_the_bench_is_as_large_and_as_hazardous_as_it_says():
    programs = chosen([])
    assert len(programs) >= 60
    assert len({program.domain for program in programs}) >= 16
    assert sum(bool(program.hazards) for program in programs) * 3 >= len(programs)
