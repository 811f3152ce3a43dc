"""Pictures and trace events: those of the program, to the byte."""

import dataclasses
import json
import shutil

import numpy
import pytest

import vbslab

needs_gnuplot = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")


def same(folder, one, other):
    assert (folder / one).read_bytes() == (folder / other).read_bytes()


@needs_gnuplot
def test_pictures_are_those_of_the_program(program, modelled, tmp_path):
    modelled.to_csv(tmp_path / "lenet.csv")
    look = {"size": (6, 3.5), "font": "Arial", "font_size": 9}
    options = ["--plot-size", "6x3.5in", "--plot-font", "Arial,9"]

    asked = ["lenet.csv", "--memory", "100KiB..300KiB:100KiB", "--request", 4, "--baselines", "fbs", "--planners", "dp-vbs+"]
    program("compare", *asked, "--plot", "theirs.svg", *options, "--plot-series", "fbs,bound", "--plot-data")
    comparison = modelled.compare("100KiB..300KiB:100KiB", ["fbs", "dp-vbs+"], request=4)
    comparison.plot(tmp_path / "own.svg", series=["fbs", "bound"], data=True, **look)
    same(tmp_path, "own.svg", "theirs.svg")
    same(tmp_path, "own.svg.csv", "theirs.svg.csv")
    comparison.plot(tmp_path / "plain.svg")
    assert (tmp_path / "plain.svg").read_bytes() != (tmp_path / "own.svg").read_bytes()
    assert not (tmp_path / "plain.svg.csv").exists()

    program("frontier", "lenet.csv", "--request", 4, "--beside", "fbs", "--plot", "theirs.svg", *options)
    curve = modelled.frontier(request=4)
    curve.plot(tmp_path / "own.svg", beside=[modelled.frontier("fbs", request=4)], **look)
    same(tmp_path, "own.svg", "theirs.svg")

    plan = modelled.plan("200KiB", request=4)
    plan.to_json(tmp_path / "plan.json")
    program("replay", "lenet.csv", "plan.json", "--gantt", "theirs.svg", *options, "--trace", "theirs.json")
    verdict = modelled.replay(plan)
    verdict.plot(tmp_path / "own.svg", **look)
    same(tmp_path, "own.svg", "theirs.svg")
    verdict.to_events(tmp_path / "own.json")
    same(tmp_path, "own.json", "theirs.json")


@needs_gnuplot
def test_options_of_pictures_are_checked(modelled, tmp_path):
    path = tmp_path / "curve.svg"
    curve = modelled.frontier(request=4)
    with pytest.raises(TypeError, match="pair of inches"):
        curve.plot(path, size=6)
    with pytest.raises(vbslab.UsageError, match="above 0"):
        curve.plot(path, size=(6, 0))
    with pytest.raises(vbslab.UsageError, match="font_size"):
        curve.plot(path, font_size=float("nan"))
    with pytest.raises(vbslab.UsageError, match="font"):
        curve.plot(path, font="a'b")
    with pytest.raises(TypeError, match="list of names"):
        curve.plot(path, series="dp-vbs+")
    with pytest.raises(vbslab.UsageError, match="dp-vbs[+]"):
        curve.plot(path, series=["dp-vbs"])
    with pytest.raises(vbslab.UsageError, match="no series"):
        curve.plot(path, series=[])
    with pytest.raises(vbslab.UsageError, match="another profile"):
        curve.plot(path, beside=[modelled.frontier(request=8)])
    with pytest.raises(TypeError, match="not a Frontier"):
        curve.plot(path, beside=[modelled])
    assert not path.exists()


def test_a_run_is_shown_beside_its_replay(network, measured, tmp_path):
    plan = measured.plan("1MiB", request=4)
    verdict = measured.replay(plan)
    with vbslab.Executor(network, measured, plan, trace=True) as executor:
        run = executor.run(numpy.zeros((4, 1, 28, 28), numpy.float32))
    verdict.to_events(tmp_path / "run.json", run=run)
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    steps = [event for event in events if event["ph"] == "X" and event["pid"] == max(e["pid"] for e in events)]
    assert len(steps) == len(run.steps) == plan.n_steps
    numpy.testing.assert_allclose(sorted(step["ts"] for step in steps), numpy.sort(run.steps["start_us"]), atol=2e-3)
    verdict.to_csv(tmp_path / "run.csv", run=run)
    rows = [line for line in (tmp_path / "run.csv").read_text().splitlines() if not line.startswith("#")]
    assert len(rows) == 1 + plan.n_steps and "planned_start_us" in rows[0]
    if shutil.which("gnuplot"):
        verdict.plot(tmp_path / "run.svg", run=run, size=(8, 4))
        assert (tmp_path / "run.svg").read_text().count("<svg") == 1

    with pytest.raises(vbslab.UsageError, match="trace"):
        verdict.to_events(tmp_path / "x.json", run=dataclasses.replace(run, steps=None))
    with pytest.raises(vbslab.InvalidError, match="steps"):
        verdict.to_csv(tmp_path / "x.csv", run=dataclasses.replace(run, steps=run.steps[:-1]))
    with pytest.raises(TypeError, match="not a Run"):
        verdict.plot(tmp_path / "x.svg", run=plan)
    assert not list(tmp_path.glob("x.*"))
