"""Checks of notebooks-export, as TAP: `check.py PROGRAM ROOT`. Run by notebooks.t, in an environment with
nbconvert, nbformat and the packages that notebooks import.

Every shipped notebook is valid, complete, and what the program exports now; its computed text stands in the
experiment's README.md. Three are executed by nbconvert, and their numbers compared with the CSV files.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import nbformat

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402

FOLDER = ROOT / "notebooks-export"
n_checks = n_failed = 0


def report(name, problems):
    """A line of TAP; problems is a list of texts."""
    global n_checks, n_failed
    n_checks += 1
    n_failed += bool(problems)
    print(f"{'not ' if problems else ''}ok {n_checks} - {name}", flush=True)
    for problem in problems[:5]:
        print(f"# {problem}", file=sys.stderr)


def code_of(book):
    return [cell for cell in book.cells if cell.cell_type == "code"]


def texts_of(cell):
    """The plain texts of the results of a cell."""
    return ["".join(output.data["text/plain"]) for output in cell.outputs if "text/plain" in output.get("data", {})]


def is_answer(cell):
    return cell.source.startswith("experiment.answer(")


def find_problems(name, book):
    """What is wrong with the form of a notebook."""
    ids = [cell.get("id") for cell in book.cells]
    if None in ids or len(set(ids)) < len(ids):
        yield "ids of cells are missing or not unique"
    if not any(cell.outputs for cell in code_of(book)):
        yield "there are no outputs"
    for cell in code_of(book):
        if not cell.execution_count:
            yield f"{cell.id} was not executed"
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                yield f"{cell.id} has an error"
            for kind, data in output.get("data", {}).items():
                if "base64" not in kind and not kind.startswith("image/") and re.search(PATHS, "".join(data)):
                    yield f"{cell.id} has a path of a machine"


PATHS = r"/(home|root|tmp|Users|usr|opt|var)/|site-packages|[A-Z]:\\"


def without_outputs(text):
    book = json.loads(text)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return book


def computed(name, book):
    """Answers that the README does not have."""
    readme = (ROOT / "experiments" / name / "README.md").read_text(encoding="utf-8")
    for cell in code_of(book):
        for text in texts_of(cell) if is_answer(cell) else ():
            if text not in readme:
                yield f"{cell.id}: README.md does not have: {text[:300]}"


def check_shipped(name):
    path = FOLDER / f"{name}.ipynb"
    text = path.read_text(encoding="utf-8")
    book = nbformat.reads(text, as_version=4)
    problems = list(find_problems(name, book))
    try:
        nbformat.validate(json.loads(text))
    except nbformat.ValidationError as error:
        problems.append(f"it is not valid: {error.message}")
    if without_outputs(text) != json.loads(notebooks.export(str(PROGRAM), FOLDER, name)):
        problems.append("the program exports another one; make notebooks")
    if name != "my-network":
        problems += computed(name, book)
    again = [text for cell in code_of(book) for text in texts_of(cell) if "same" in text.split("\n")[0].split()]
    problems += ["what is made anew is not the same"] if any("False" in text for text in again) else []
    report(f"{name}: valid, executed, as exported, as the README", problems)


def execute(name, folder):
    """Executes a shipped notebook by nbconvert."""
    words = ["-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(folder), str(FOLDER / f"{name}.ipynb")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    if done.returncode != 0:
        return None, [done.stderr[-500:]]
    return nbformat.read(folder / f"{name}.ipynb", as_version=4), []


def rows_of(path):
    """The rows of a CSV file without its comments."""
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def tables_of(book):
    """The cells of the computed tables, by the text of their first column's heading and row."""
    found = {}
    for cell in code_of(book):
        for text in texts_of(cell) if is_answer(cell) else ():
            lines = [[field.strip() for field in line.split("|")[1:-1]] for line in text.split("\n")]
            if len(lines) > 2 and lines[0]:
                found.setdefault(lines[0][0], {}).update({line[0]: dict(zip(lines[0], line)) for line in lines[2:]})
    return found


def compare_example(book):
    table = tables_of(book)["planner"]
    for row in rows_of(ROOT / "experiments/vbs-example/compare.csv"):
        shown = table[row["planner"]][row["io"]]
        wanted = f"{float(row['per_sample_us']):g}" if row["feasible"] == "true" else "-"
        if shown != wanted:
            yield f"{row['planner']}, {row['io']}: {shown}, but compare.csv has {wanted}"


def compare_figure_1(book):
    table = tables_of(book)["network"]
    for row in rows_of(ROOT / "experiments/vbs-fig-1/time-per-image.csv"):
        heading = {"1": "b = 1", "2": "2", "4": "4", "8": "8", "12": "12"}.get(row["batch"])
        if heading and table[row["network"]][heading] != f"{float(row['second_ms']):.2f}":
            yield f"{row['network']}, batch {row['batch']}: {table[row['network']][heading]}, not {row['second_ms']}"


def compare_network(book):
    """The frame of the planners' times beside what the program says."""
    words = [str(PROGRAM), "compare", str(ROOT / "db/profiles/squeezenet-v1.0-a.csv"), "--planners", "all", "--csv"]
    rows = list(csv.DictReader(subprocess.run(words, capture_output=True, text=True).stdout.splitlines()))
    times = next(cell for cell in code_of(book) if cell.source.startswith("comparison ="))
    page = next("".join(output.data["text/html"]) for output in times.outputs if "text/html" in output.get("data", {}))
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)]
    planners = lines[0][1:]
    shown = {(line[0], planner): value for line in lines[2:] for planner, value in zip(planners, line[1:])}
    timed = {"optimal"}
    for row in rows:
        value = shown.get((f"{int(row['memory_bytes']) / 2**20:.1f}", row["planner"]))
        if row["planner"] in planners and row["planner"] not in timed and row["feasible"] == "true":
            if value is None or abs(float(value) - float(row["per_sample_us"]) / 1000) > 0.0051:
                yield f"{row['planner']} in {row['memory_bytes']} bytes: {value}, not {row['per_sample_us']} us"


shipped = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
report("a notebook for every question, and no other", sorted(set(shipped) ^ set(notebooks.questions(str(PROGRAM)))))
size = sum(path.stat().st_size for path in FOLDER.glob("*.ipynb"))
report(f"together they are small ({size / 1e6:.1f} MB)", [] if size < 8e6 else ["more than 8 MB"])
for name in shipped:
    check_shipped(name)
with tempfile.TemporaryDirectory() as folder:
    for name, compare in (("vbs-example", compare_example), ("vbs-fig-1", compare_figure_1), ("my-network", compare_network)):
        # The notebooks look for the experiments' tables in folders above their own.
        book, problems = execute(name, pathlib.Path(folder))
        report(f"{name}: executed by nbconvert, with the numbers of the CSV files", problems or list(compare(book)))
print(f"1..{n_checks}")
sys.exit(1 if n_failed else 0)
