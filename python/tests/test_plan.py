"""Plans, frontiers, replays and comparisons are those of the program."""

import json
import pickle

import numpy as np
import pytest

import vbslab

ALEXNET_WEIGHTS = "alexnet-weights-a.csv"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"planner": "fbs"},
        {"planner": "greedy-vbs", "request": 5},
        {"planner": "dp-vbs", "table": "2MB"},
        {"io": "resident", "latency_us": 1e7},
    ],
)
def test_a_plan_is_that_of_the_program_to_the_byte(program, alexnet, alexnet_csv, options):
    names = [(f"--{name.replace('_', '-')}", str(value)) for name, value in options.items()]
    arguments = [word for pair in names for word in pair]
    printed = program("plan", alexnet_csv, "--memory", "16MiB", *arguments, "--json", "-")
    plan = alexnet.plan("16MiB", **options)
    assert plan.to_json() == printed
    members = json.loads(printed)
    assert (plan.peak_bytes, plan.time_us) == (members["predicted"]["peak_bytes"], members["predicted"]["time_us"])
    assert (plan.bound_us, plan.gap_percent) == (members["bound"]["time_us"], members["bound"]["gap_percent"])


def test_a_closed_schedule_leaves_its_replay(alexnet):
    plan = alexnet.plan("8MiB")
    verdict, n = alexnet.replay(plan), plan.n_steps
    plan.close()
    assert len(verdict._columns()["name"]) == n


def test_a_plan_with_weights_included_is_that_of_the_program(program, alexnet_csv):
    path = alexnet_csv.with_name(ALEXNET_WEIGHTS)
    profile = vbslab.Profile(path)
    for program_options, options in (
        (["--weights", "included"], {"weights": "included"}),
        (["--planner", "mmcnn"], {"planner": "mmcnn"}),
        (["--planner", "vdnn", "--copy-rate", "5GB", "--copy-latency", "3"],
         {"planner": "vdnn", "copy_rate": "5GB", "copy_latency_us": 3}),
    ):  # fmt: skip
        printed = program("plan", path, "--memory", "250MiB", "--request", "2", *program_options, "--json", "-")
        plan = profile.plan("250MiB", request=2, **options)
        assert plan.to_json() == printed
        assert plan.weights == "included"


def named_algorithms(plan):
    return [plan.algorithms[i] for i in plan.steps["algorithm"]]


def test_a_schedule_goes_through_json_pickle_and_files(alexnet, tmp_path):
    plan = alexnet.plan("8MiB")
    plan.to_json(tmp_path / "plan.json")
    for other in (
        vbslab.Schedule(tmp_path / "plan.json"),
        vbslab.Schedule.from_json(plan.to_json()),
        pickle.loads(pickle.dumps(plan)),
    ):
        for name in ("layer", "batch"):
            assert (other.steps[name] == plan.steps[name]).all()
        assert named_algorithms(other) == named_algorithms(plan)
        assert (other.time_us, other.bound_us, other.memory_bytes) == (plan.time_us, plan.bound_us, 8 * 2**20)


def test_steps_are_an_array_over_the_schedules_memory(alexnet):
    plan = alexnet.plan("8MiB")
    steps, members = plan.steps, json.loads(plan.to_json())["steps"]
    assert steps["layer"].tolist() == [step["layer"] for step in members]
    assert steps["batch"].tolist() == [step["batch"] for step in members]
    assert [plan.algorithms[i] for i in steps["algorithm"]] == [step["algorithm"] for step in members]
    assert [plan.layer_names[k - 1] for k in steps["layer"]] == [step["name"] for step in members]
    assert not steps.flags.owndata and not steps.flags.writeable
    expected = steps.tolist()
    plan.close()
    del plan
    assert steps.tolist() == expected


def test_a_frontier_is_that_of_the_program(program, alexnet, alexnet_csv):
    printed = json.loads(program("frontier", alexnet_csv, "--planner", "dp-vbs", "--json", "-"))["points"]
    curve = alexnet.frontier("dp-vbs")
    assert curve.memory_bytes.tolist() == [point["memory_bytes"] for point in printed]
    assert curve.time_us.tolist() == [point["time_us"] for point in printed]
    assert (curve.planner, curve.request, curve.model, len(curve)) == ("dp-vbs", 12, "alexnet", len(printed))
    first = int(curve.memory_bytes[0])
    assert curve.time_at(first - 1) == float("inf")
    assert curve.time_at(first) == curve.time_us[0] == alexnet.plan(first, "dp-vbs").time_us
    assert curve.time_at(2**62) == curve.time_us[-1]


def test_a_replay_is_that_of_the_program(program, alexnet, alexnet_csv, tmp_path):
    plan = alexnet.plan("8MiB")
    plan.to_json(tmp_path / "plan.json")
    printed = json.loads(program("replay", alexnet_csv, "plan.json", "--memory", "2MiB", "--json", code=3))
    verdict = alexnet.replay(plan, memory="2MiB")
    assert (verdict.peak_bytes, verdict.time_us, verdict.fits) == (printed["peak_bytes"], printed["time_us"], False)
    assert verdict.steps["memory_bytes"][verdict.violation_step] > 2 * 2**20
    assert verdict.steps["memory_bytes"].max() == verdict.peak_bytes == plan.peak_bytes
    assert alexnet.replay(plan).fits and alexnet.replay(plan).violation_step is None
    assert not alexnet.replay(plan, latency_us=1).in_time
    program("replay", alexnet_csv, "plan.json", "--trace", "trace.csv")
    alexnet.replay(plan).to_csv(tmp_path / "own.csv")
    assert (tmp_path / "own.csv").read_text() == (tmp_path / "trace.csv").read_text()


def test_a_comparison_is_that_of_the_program(program, alexnet_csv, modelled, tmp_path):
    modelled.to_csv(tmp_path / "lenet.csv")
    comparison = modelled.compare("100KiB..300KiB:100KiB", ["fbs", "dp-vbs+"], request=4)
    printed = json.loads(
        program("compare", "lenet.csv", "--memory", "100KiB..300KiB:100KiB", "--request", "4", "--baselines", "fbs",
                "--planners", "dp-vbs+", "--json")
    )  # fmt: skip
    own = json.loads(comparison.to_json())
    for row in [*printed["rows"], *own["rows"]]:
        row.pop("plan_us")
    assert own["rows"] == printed["rows"]
    assert comparison.memory_bytes == [100 * 1024, 200 * 1024, 300 * 1024]
    assert "lower" in str(comparison) and "<table>" in comparison._repr_html_()
    assert modelled.compare(range(102400, 307201, 102400), ["fbs"], request=4).memory_bytes == comparison.memory_bytes


def test_an_infeasible_budget_names_the_least_and_why(alexnet):
    with vbslab.Solver(alexnet) as solver:
        with pytest.raises(vbslab.InfeasibleError, match="least budget") as caught:
            solver.plan("1KiB")
        least = solver.least_bytes
        assert caught.value.least_bytes == least and caught.value.exit_code == 3
        assert isinstance(caught.value, ValueError)
        assert solver.plan(least).peak_bytes <= least
        why = solver.explain()
        assert why.least_bytes == least
        assert why.tensor_bytes + why.ws_bytes + why.extra_reserved_bytes == least
        with pytest.raises(vbslab.InfeasibleError):
            solver.plan(least - 1)
    assert alexnet.bound_us("8MiB") <= alexnet.plan("8MiB").time_us
    assert alexnet.bound_us(1) == float("inf")


def test_a_search_has_limits_and_progress(alexnet):
    told = []
    options = {"request": 4, "node_limit": 50, "seed": 1}
    with alexnet.solver("optimal", progress=lambda *about: told.append(about), **options) as solver:
        plan = solver.plan("8MiB")
        assert alexnet.replay(plan).fits
    assert (plan.steps == alexnet.plan("8MiB", "optimal", **options).steps).all()
    assert told and all(0 <= done <= 1 and isinstance(text, str) for done, _, text in told)


@pytest.mark.parametrize(
    "options, part",
    [
        ({"request": 0}, "request"),
        ({"request": 1.5}, "request"),
        ({"io": "inside"}, "inside"),
        ({"weights": "lost"}, "lost"),
        ({"planner": "dp-vbz"}, "did you mean"),
        ({"copy": "disk"}, "weights included"),
        ({"weights": "included", "copy": "moon"}, "moon"),
        ({"latency_us": -1}, "latency_us"),
        ({"planner": "fbs", "time_limit_s": 1}, "does not search"),
        ({"planner": "optimal", "table": "2MB"}, "no tables"),
        ({"planner": "dp-vbs", "table": "1GiB"}, "more than memory"),
        ({"memory": "20 MiBs"}, "20 MiBs"),
        ({"memory": 20.5}, "float"),
        ({"memory": -1}, "-1"),
        ({"memory": 2**63}, "size"),
    ],
)
def test_a_wrong_option_is_one_clear_line(alexnet, options, part):
    with pytest.raises((ValueError, LookupError, TypeError)) as caught:
        alexnet.plan(**{"memory": "8MiB", **options})
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_schedules_of_other_networks_are_refused(alexnet, modelled):
    with pytest.raises(vbslab.InvalidError, match="step"):
        modelled.replay(alexnet.plan("8MiB"))
    with pytest.raises(TypeError):
        modelled.replay("plan.json")


def test_numpy_numbers_are_numbers(modelled):
    assert modelled.plan(np.int64(2**20), request=np.int32(4)).request == 4


def test_planners_from_outside_plan_too(modelled, tmp_path):
    """A program that answers each problem with the schedule that it was given."""
    plan = modelled.plan("1MiB", "fbs", request=4)
    (tmp_path / "plan.json").write_text(plan.to_json().replace("\n", " ") + "\n")
    program = tmp_path / "planner"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\ncat '{tmp_path}/plan.json'\n")
    program.chmod(0o755)
    name = f"exec:{program}"
    assert modelled.plan("1MiB", name, request=4).time_us == plan.time_us
    comparison = modelled.compare("1MiB", ["fbs", name], request=4)
    assert len(comparison.planners) == 2 and "planner" in comparison.planners[1]
    comparison.close()
    with pytest.raises((vbslab.FileError, LookupError, ValueError)):
        modelled.plan("1MiB", "exec:./none", request=4)
