"""Experiments: the answers of all templates of the project, and what is said where something is missing."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "experiments").glob("*/answer.md"))

pytest.importorskip("pandas")
from vbslab import experiment  # noqa: E402


@pytest.fixture
def two(tmp_path):
    """An experiment of two tables."""
    (tmp_path / "times.csv").write_text(
        "# device: a machine's name\n# date: 2026-11-21T09:16:29Z\nnetwork,batch,us,note\nalexnet,1,0.125,it's\n"
        'alexnet,2,2.50,\nvgg-16,1,16777217,"100%, ""all"""\n'
    )
    (tmp_path / "more-times.csv").write_text("a,b_bytes\n1,7\n")
    return experiment.Experiment("two", folder=tmp_path).load("times.csv", "more-times.csv", "again=more-times.csv")


def load(folder, template):
    """What a notebook of the experiment loads."""
    named = re.search(r"^-- tables: (.*)$", template, re.MULTILINE)
    return named.group(1).split() if named else sorted(path.name for path in folder.glob("*.csv"))


def fill(made, template):
    """The text of a whole template: definitions run, all else is filled in."""
    text, part, definition, in_comment = "", "", "", False
    for line in [*template.rstrip("\n").split("\n"), ""]:
        if line.startswith("--"):
            definition, in_comment = definition + ";\n", True
        elif line.startswith("    ") and in_comment:
            definition += line + "\n"
        else:
            was_defined, in_comment = definition.strip(";\n") != "", False
            made.define(definition)
            definition = ""
            if line.startswith("    ") or line:
                part += line + "\n"
                continue
            if part:
                text += made.answer(part).text + "\n"
                part = ""
            elif was_defined:
                continue
            text += "\n"
    return text


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name)
def test_answers_are_those_of_the_readme(path):
    readme = (path.parent / "README.md").read_text(encoding="utf-8")
    template = path.read_text(encoding="utf-8")
    made = experiment.Experiment(path.parent.name, folder=path.parent)
    made.load(*load(path.parent, template))
    answered = [part for part in fill(made, template).split("\n\n") if part.strip()]
    assert answered
    for part in answered:
        assert part.strip("\n") in readme


def test_rows_and_formats(two):
    assert two.answer("| %s | %.2f | %+.1f%% | %s |\n    SELECT network, us, iif(batch = 2, NULL, 1e2 * us), note FROM times").text == (
        "| alexnet | 0.12 | +12.5% | it's |\n| alexnet | 2.50 | - | - |\n| vgg-16 | 16777217.00 | +1677721700.0% | 100%, \"all\" |"
    )
    assert two.answer("%s, timed on %s, %s\n    SELECT 0.1, device, day FROM origin WHERE source = 'times'").text == (
        "0.1, timed on a machine's name, 2026-11-21"
    )
    assert two.answer("100%\\\n%d\\\n    SELECT 7.9\n.").text == "100%7."
    assert two.sql("SELECT b_bytes / 2 AS half FROM again WHERE a = :a", a=1).half.tolist() == [3]
    assert "more_times" in two.tables and "Experiment two" in repr(two)


def test_answers_show_themselves(two):
    table = two.answer("| network | us |\n| --- | ---: |\n| [%s](x) | %g |\n    SELECT '<b>', us FROM times WHERE batch = 2")
    assert table.frames[0].us.tolist() == [2.5] and table._repr_markdown_() is None
    assert '<td style="text-align: left">&lt;b&gt;</td>' in table._repr_html_()
    text = two.answer("%d rows\n    SELECT count(*) FROM times")
    assert (text._repr_html_(), text._repr_markdown_(), repr(text)) == (None, "3 rows", "3 rows")


def test_wrong_templates_are_refused(two, tmp_path):
    with pytest.raises(ValueError, match="1 values for the format"):
        two.answer("%s %s\n    SELECT 1")
    with pytest.raises(ValueError, match="2 values for the format"):
        two.answer("%s\n    SELECT 1, 2")
    with pytest.raises(ValueError, match="error: vgg-16 is slow"):
        two.answer("error: %s is slow\n    SELECT network FROM times WHERE us > 1e6")
    with pytest.raises(FileNotFoundError, match="no 'none.csv'"):
        two.load("none.csv")
    with pytest.raises(FileNotFoundError, match="VBSLAB_DATA"):
        experiment.Experiment("no-such-experiment")


def test_data_are_found(two, tmp_path, monkeypatch):
    (tmp_path / "experiments" / "mine").mkdir(parents=True)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.delenv("VBSLAB_DATA", raising=False)
    monkeypatch.chdir(below)
    assert experiment.Experiment("mine").folder == tmp_path / "experiments" / "mine"
    monkeypatch.setenv("VBSLAB_DATA", str(below))
    with pytest.raises(FileNotFoundError):
        experiment.Experiment("mine")
    monkeypatch.setenv("VBSLAB_DATA", str(tmp_path))
    assert experiment.Experiment("mine").folder.is_dir()


def test_figures_have_panels_and_lines(two):
    matplotlib = pytest.importorskip("matplotlib", "3.7")
    matplotlib.use("agg")
    rows = two.sql("SELECT network, batch, us FROM times UNION ALL SELECT 'vgg-16', 2, 5.0")
    figure, axes = experiment.curves(rows, "batch", "us", line="network", panel="network", ylabel="us")
    assert [axis.get_title() for axis in axes] == ["alexnet", "vgg-16"]
    assert axes[0].lines[0].get_ydata().tolist() == [0.125, 2.5]
    figure, (axis,) = experiment.curves(rows, "network", "us", line="batch", kind="bars")
    assert [label.get_text() for label in axis.get_xticklabels()] == ["alexnet", "vgg-16"] and len(axis.patches) == 4


def test_import_needs_numpy_and_cffi_alone(tmp_path):
    code = (
        "import sys\n"
        "missing = ('onnx', 'onnxruntime', 'torch', 'tensorflow', 'pandas', 'matplotlib', 'IPython')\n"
        "sys.modules.update(dict.fromkeys(missing))\n"  # an import of any of them fails
        "import vbslab, vbslab.experiment\n"
        "profile = vbslab.Network('lenet-5').measure(backend='analytic', batches='1-2')\n"
        "assert profile.plan('1MiB', request=2).fits\n"
        "network = vbslab.Network('lenet-5')\n"
        "network.to_onnx('net.onnx')\n"
        "assert vbslab.Network('net.onnx').n_parameters == network.n_parameters\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
