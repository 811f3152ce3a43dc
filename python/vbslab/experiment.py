"""Experiments of the project in notebooks: their tables, the text with numbers, and figures.

An experiment is a folder with a README.md, tables as CSV files, and answer.md, a template that turns the
tables into the text of the README. ``vbslab export --notebook`` writes a notebook of one, whose cells
use this module. It needs pandas, and matplotlib for figures; ``import vbslab`` needs neither.

>>> import os, pathlib
>>> folder = pathlib.Path("two"); folder.mkdir(); os.chdir(folder)
>>> _ = pathlib.Path("times.csv").write_text("network,batch,us\\nalexnet,1,4\\nalexnet,2,6\\n")
>>> two = Experiment("two", folder=".").load("times.csv")
>>> two.answer('''
... A sample takes %.1f us at batch %d.
...     SELECT us / batch, batch FROM times WHERE batch = 2
... ''')
A sample takes 3.0 us at batch 2.
>>> two.sql("SELECT max(us) AS most FROM times").most.tolist()
[6.0]
"""

from __future__ import annotations

import csv
import html
import math
import os
import pathlib
import re
import shutil
import sqlite3
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._convert import pandas
from .profile import Profile

__all__ = ["Answer", "Experiment", "curves", "data_folder", "shipped_profile", "style"]


def _roots() -> Iterator[pathlib.Path]:
    """The folders that may have the data of the project: what is named, a checkout around, an installation."""
    named = os.environ.get("VBSLAB_DATA")
    if named:
        yield pathlib.Path(named)
        return
    here = pathlib.Path.cwd()
    yield from (here, *here.parents)
    program = shutil.which("vbslab")
    if program:
        binaries = pathlib.Path(program).resolve().parent
        yield binaries.parent / "share" / "vbslab"
        yield binaries.parent


def data_folder(*places: str) -> pathlib.Path:
    """The first folder of these names in the project's data.

    It is looked for in the folder that the variable VBSLAB_DATA names, or else in the current folder and
    those above it, and beside the program ``vbslab`` that the shell finds.
    """
    for root in _roots():
        for place in places:
            if (root / place).is_dir():
                return root / place
    raise FileNotFoundError(
        f"there is no folder '{places[0]}' of vbslab in or above {os.getcwd()}, nor beside a program vbslab; "
        "the variable VBSLAB_DATA can name the folder that has it"
    )


def shipped_profile(name: str) -> Profile:
    """A measured profile that comes with the project, such as "googlenet-a"."""
    return Profile(data_folder("db/profiles", "profiles") / f"{name}.csv")


# --- tables ---

_WHOLE = re.compile(r"-?[0-9]+\Z")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_TIME = re.compile(r"(^|_)(us|ms|s)$|seconds$|^ms_")
_ABOUT = re.compile(r"# ([a-z]+): (.*)")

_FIRST = """CREATE TABLE about(source, key, value);
CREATE VIEW origin AS SELECT source, max(value) FILTER (WHERE key = 'device') AS device,
    substr(max(value) FILTER (WHERE key = 'date'), 1, 10) AS day FROM about GROUP BY source;"""


def _value(text: str, is_time: bool) -> Union[None, int, float, str]:
    """A field as a value: numbers are numbers, times real ones even where they are whole."""
    if text == "":
        return None
    if _WHOLE.match(text) and not is_time:
        return int(text)
    return float(text) if _NUMBER.match(text) else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _functions(database: sqlite3.Connection) -> None:
    """Adds the mathematical functions that a build of SQLite may lack."""

    def of_numbers(function: Any) -> Any:
        def call(*values: Any) -> Optional[float]:
            try:
                return None if None in values else function(*values)
            except ValueError:
                return None

        return call

    for name, count, function in (
        ("sqrt", 1, math.sqrt),
        ("ln", 1, math.log),
        ("log10", 1, math.log10),
        ("exp", 1, math.exp),
        ("pow", 2, math.pow),
    ):
        try:
            database.execute(f"SELECT {name}({', '.join('1' * count)})")
        except sqlite3.OperationalError:
            database.create_function(name, count, of_numbers(function), deterministic=True)


class Experiment:
    """The tables of an experiment, as those of a SQLite database in memory.

    Parameters
    ----------
    name : the name of its folder in experiments/
    folder : the folder itself, where it lies elsewhere
    """

    def __init__(self, name: str, folder: Union[str, "os.PathLike[str]", None] = None) -> None:
        self.name = name
        self.folder = pathlib.Path(folder) if folder else data_folder(f"experiments/{name}")
        self.database = sqlite3.connect(":memory:")
        _functions(self.database)
        self.database.executescript(_FIRST)

    def __repr__(self) -> str:
        return f"<Experiment {self.name}: {', '.join(self.tables) or 'no tables yet'}>"

    @property
    def tables(self) -> List[str]:
        """The names of the tables and views."""
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT IN ('about', 'origin')"
        return [name for (name,) in self.database.execute(query)]

    def load(self, *files: str) -> "Experiment":
        """Makes a table of each CSV file, and runs the definitions of each .sql file.

        A table has the name of its file, with _ in the place of signs; "NAME=FILE.csv" gives it another. One
        that is there already gets more rows.
        Numbers become numbers, times real ones, and empty fields NULL. The comments "# key: value" of the
        files are the table about(source, key, value).
        """
        for file in files:
            name, _, place = file.rpartition("=")
            path = self._find(place)
            if path.suffix == ".sql":
                self.define(path.read_text(encoding="utf-8"))
            else:
                self._load_csv(name or re.sub(r"\W", "_", path.stem), path)
        return self

    def _find(self, place: str) -> pathlib.Path:
        for folder in (self.folder, self.folder.parent / "lib"):
            if (folder / place).is_file():
                return folder / place
        raise FileNotFoundError(f"there is no '{place}' in {self.folder}")

    def _load_csv(self, table: str, path: pathlib.Path) -> None:
        with open(path, newline="", encoding="utf-8") as stream:
            lines = []
            for line in stream:
                if not line.startswith("#"):
                    lines.append(line)
                elif found := _ABOUT.match(line.rstrip("\r\n")):
                    self.database.execute("INSERT INTO about VALUES (?, ?, ?)", (table, *found.groups()))
        rows = csv.reader(lines, strict=True)
        columns = next(rows)
        is_time = [bool(_TIME.search(column)) for column in columns]
        self.database.execute(f"CREATE TABLE IF NOT EXISTS {_quoted(table)}({', '.join(map(_quoted, columns))})")
        insert = f"INSERT INTO {_quoted(table)} VALUES ({', '.join('?' * len(columns))})"
        self.database.executemany(insert, (list(map(_value, row, is_time)) for row in rows if row))

    def define(self, sql: str) -> None:
        """Runs definitions of views and tables."""
        self.database.executescript(sql)

    def sql(self, query: str, **parameters: Any) -> Any:
        """The result of a query as a DataFrame. :NAME in it is the parameter of that name."""
        return pandas().read_sql_query(query, self.database, params=parameters)

    def profile(self, name: str) -> Profile:
        """A profile: a CSV file of the experiment, or one that comes with the project, such as "googlenet-a"."""
        own = self.folder / f"{name}.csv"
        return Profile(own) if own.is_file() else shipped_profile(name)

    def answer(self, template: str) -> "Answer":
        """Fills in a template: text, in which a line with numbers is a format of printf, and the query that
        gives the numbers stands below it, indented by four. A line that ends with \\ is continued by the next.
        Text that begins with "error: " is raised."""
        filled, frames = "", []
        for text, query in _parts(template):
            if query is None:
                filled += _line(text)
                continue
            cursor = self.database.execute(query)
            rows = cursor.fetchall()
            if text.startswith("error: "):
                if rows:
                    raise ValueError(_row(text, rows[0]))
                continue
            filled += "".join(_line(_row(text, row)) for row in rows)
            frames.append(pandas().DataFrame(rows, columns=[column[0] for column in cursor.description]))
        return Answer(filled.strip("\n"), frames)


# --- templates ---


def _parts(template: str) -> Iterator[Tuple[str, Optional[str]]]:
    """The lines of a template that are text, and its formats with their queries."""
    lines = template.strip("\n").split("\n")
    k = 0
    while k < len(lines):
        text, k = lines[k], k + 1
        first = k
        while k < len(lines) and lines[k].startswith("    "):
            k += 1
        yield text, "\n".join(lines[first:k]) if k > first else None


def _line(text: str) -> str:
    return text[:-1] if text.endswith("\\") else text + "\n"


_CONVERSION = re.compile(r"%[-+]?[0-9]*(?:\.[0-9]+)?[a-z%]")


def _shortest(number: float) -> str:
    """A number with as many digits as tell it from all others, as the program writes it."""
    for digits in (15, 16):
        text = f"{number:.{digits}g}"
        if float(text) == number:
            return text
    return f"{number:.17g}"


def _row(text: str, values: Sequence[Any]) -> str:
    """A row in a format of printf. %s takes numbers too; a missing value is "-", without a percent sign."""
    made, at, n = "", 0, 0
    for found in _CONVERSION.finditer(text):
        if found.start() < at:
            continue
        made += text[at : found.start()]
        at = found.end()
        conversion = found.group()
        if conversion == "%%":
            made += "%"
            continue
        if n == len(values):
            raise ValueError(f"{len(values)} values for the format '{text}'")
        value, n = values[n], n + 1
        if isinstance(value, (int, float)):
            made += conversion % (_shortest(value) if conversion.endswith("s") else value)
        elif conversion.endswith("s"):
            made += conversion % ("-" if value is None else value)
        else:
            width = re.sub(r"[+a-z]|\.[0-9]+", "", conversion)
            made += f"{width}s" % ("-" if value is None else value)
            at += 2 if text.startswith("%%", at) else 0
    if n != len(values):
        raise ValueError(f"{len(values)} values for the format '{text}'")
    return made + text[at:]


def _plain(cell: str) -> str:
    """A cell of a table in Markdown as HTML: the text of its links, without marks of code."""
    return html.escape(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", ""))


class Answer:
    """A filled-in template: ``text`` is the text, and ``frames`` has the result of each query as a DataFrame.

    A notebook shows a table as a table, and other text as Markdown.
    """

    def __init__(self, text: str, frames: Sequence[Any]) -> None:
        self.text = text
        self.frames = frames

    def __repr__(self) -> str:
        return self.text

    def _cells(self) -> Optional[List[List[str]]]:
        """The cells of a table in Markdown; None for other text."""
        lines = self.text.split("\n")
        if len(lines) < 2 or not all(line.startswith("|") and line.endswith("|") for line in lines):
            return None
        cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return cells if all(re.match(r":?-+:?\Z", mark) for mark in cells[1]) else None

    def _repr_markdown_(self) -> Optional[str]:
        return None if self._cells() else self.text

    def _repr_html_(self) -> Optional[str]:
        cells = self._cells()
        if not cells:
            return None
        head, rule, *rows = cells
        align = ["right" if mark.endswith(":") else "left" for mark in rule]

        def line(tag: str, texts: Sequence[str]) -> str:
            made = (f'<{tag} style="text-align: {side}">{_plain(text)}</{tag}>' for text, side in zip(texts, align))
            return f"<tr>{''.join(made)}</tr>"

        body = "\n".join(line("td", row) for row in rows)
        return f"<table>\n<thead>{line('th', head)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


# --- figures ---

# Colours of Okabe and Ito, which the colour-blind tell apart; markers and dashes do so without colour.
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "fbs": {"color": "#E69F00", "linewidth": 2.4, "marker": "s"},
    "fbs-best": {"color": "#0072B2", "linewidth": 1.6, "marker": "o", "fillstyle": "none"},
    "greedy-vbs": {"color": "#009E73", "linewidth": 1.6, "linestyle": "--", "marker": "^"},
    "dp-monotone": {"color": "#0072B2", "linewidth": 1.4, "linestyle": "--", "marker": "^"},
    "dp-vbs": {"color": "#D55E00", "linewidth": 1.4, "marker": "."},
    "dp-vbs+": {"color": "#CC79A7", "linewidth": 1.6, "marker": "d"},
    "optimal": {"color": "#000000", "linewidth": 1.4, "linestyle": ":", "marker": "o", "fillstyle": "none"},
    "joint": {"color": "#0072B2", "linewidth": 1.6, "marker": "o"},
    "mmcnn": {"color": "#E69F00", "linewidth": 1.6, "marker": "s"},
    "vdnn": {"color": "#009E73", "linewidth": 1.6, "linestyle": "--", "marker": "^"},
    "lower bound": {"color": "#707070", "linewidth": 1.2, "linestyle": "--"},
}
_CYCLE: Sequence[Mapping[str, Any]] = (
    {"color": "#E69F00", "marker": "s"},
    {"color": "#0072B2", "marker": "o"},
    {"color": "#009E73", "marker": "^", "linestyle": "--"},
    {"color": "#D55E00", "marker": "."},
    {"color": "#56B4E9", "marker": "v", "linestyle": "--"},
    {"color": "#CC79A7", "marker": "d", "linestyle": "-."},
    {"color": "#000000", "marker": "x", "linestyle": ":"},
)


def style(name: str, number: int = 0) -> Dict[str, Any]:
    """How a planner's line is drawn, as arguments of matplotlib; of other names, the style of a number."""
    return {"linewidth": 1.5, "markersize": 4.5, **_STYLES.get(name, _CYCLE[number % len(_CYCLE)])}


def _draw(axis: Any, rows: Any, x: str, y: str, kind: str, shift: float, looks: Dict[str, Any]) -> Any:
    """Draws a line of a panel."""
    if kind == "bars":
        width = looks.pop("width")
        return axis.bar([k + shift for k in rows[x]], rows[y], width, color=looks["color"], label=looks["label"])
    if kind == "points":
        looks["linestyle"] = "none"
    elif kind == "steps":
        looks.update(drawstyle="steps-post", marker="")
    elif kind == "lines":
        looks["marker"] = ""
    return axis.plot(rows[x], rows[y], **looks)[0]


def curves(
    data: Any,
    x: str,
    y: str,
    *,
    line: Optional[str] = None,
    panel: Optional[str] = None,
    kind: str = "linespoints",
    kinds: Optional[Mapping[str, str]] = None,
    looks: Optional[Mapping[str, Mapping[str, Any]]] = None,
    columns: Optional[int] = None,
    size: Tuple[float, float] = (8.6, 3.6),
    free: bool = False,
    **settings: Any,
) -> Tuple[Any, Sequence[Any]]:
    """Draws lines of a table: a panel for each value of a column, a line for each value of another.

    Parameters
    ----------
    data : a DataFrame; panels and lines keep its order
    x, y : the columns that are drawn; where x has texts they are the places of the axis, in their order
    line, panel : the columns that tell lines and panels apart
    kind : "linespoints", "lines", "points", "steps" or "bars"; kinds has those of some lines
    looks : arguments of matplotlib for some lines, by their name
    columns : panels beside each other; all by default
    size : width and height in inches
    free : panels have y axes of their own
    settings : of all axes, as ``Axes.set`` takes them: xlabel, ylabel, xscale, ylim, xticks ...

    Gives the figure and its axes, to which more can be added:

        curves(table, "mib", "ms", line="planner", panel="network", xlabel="MiB", ylabel="ms an image")
    """
    from matplotlib import pyplot

    panels = [None] if panel is None else list(dict.fromkeys(data[panel]))
    lines = [None] if line is None else list(dict.fromkeys(data[line]))
    words = list(dict.fromkeys(data[x])) if not pandas().api.types.is_numeric_dtype(data[x]) else None
    across = min(columns or len(panels), len(panels))
    figure, grid = pyplot.subplots(
        -(-len(panels) // across), across, figsize=size, layout="constrained", squeeze=False, sharey=not free
    )
    axes = list(grid.flat)
    known: Dict[Any, Any] = {}
    for axis in axes[len(panels) :]:
        axis.remove()
    for axis, name in zip(axes, panels):
        of_panel = data if panel is None else data[data[panel] == name]
        for k, label in enumerate(lines):
            rows = of_panel if line is None else of_panel[of_panel[line] == label]
            if not len(rows):
                continue
            if words is not None:
                rows = rows.assign(**{x: [words.index(word) for word in rows[x]]})
            drawn_as = (kinds or {}).get(str(label), kind)
            look = {**style(str(label), k), "label": label, **(looks or {}).get(str(label), {})}
            if drawn_as == "bars":
                look.setdefault("width", 0.8 / len(lines))
            shift = 0.8 * ((k + 0.5) / len(lines) - 0.5) if words is not None else 0
            known.setdefault(label, _draw(axis, rows, x, y, drawn_as, shift if drawn_as == "bars" else 0, look))
        if words is not None:
            axis.set_xticks(range(len(words)), words)
        axis.set(**{"title": "" if name is None else str(name), **settings})
        axis.grid(color="#e0e0e0", linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    for k, axis in enumerate(axes[: len(panels)]):
        if k % across:
            axis.set_ylabel("")
        if k + across < len(panels):
            axis.set_xlabel("")
    if line is not None:
        figure.legend(
            list(known.values()), list(known), loc="outside upper center", ncols=min(len(known), 6), frameon=False
        )
    return figure, axes[: len(panels)]
