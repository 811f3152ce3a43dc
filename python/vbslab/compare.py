"""Comparisons of planners over budgets."""

from __future__ import annotations

import json
from typing import Any, List, Optional, Sequence

from . import errors
from ._call import Call, Handle, Progress, ProgressFunction
from ._convert import (
    Path,
    Size,
    SizeRange,
    byte_range,
    format_bytes,
    html_table,
    integer,
    pandas,
    path_of,
    seconds,
    take_text,
    text_of,
)
from ._native import ffi, lib
from ._plot import Lengths, plot_options
from .plan import find_planner, problem_of
from .profile import Profile


class Comparison(Handle):
    """Every planner at every budget, each schedule judged by replay.

    Parameters
    ----------
    profile : the :class:`Profile` to plan on
    memory : the budgets: "15MiB..40MiB:1MiB", "5MiB..1GiB:*1.25", one size, or a range of bytes; the
        default is about 25 that matter
    planners : names of planners; the default is all that are compared usually
    judge : a second :class:`Profile`, by whose times schedules are judged
    time_limit_s, node_limit, seed : of planner optimal at each budget, as in :class:`Solver`
    request, io, weights, copy, copy_rate, copy_latency_us, latency_us : as in :class:`Solver`
    progress : a function of (share done, seconds left or None, text)

    >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
    >>> comparison = profile.compare("100KiB..200KiB:50KiB", ["fbs", "dp-vbs+"], request=4)
    >>> comparison.planners, [memory // 1024 for memory in comparison.memory_bytes]
    (['fbs', 'dp-vbs+'], [100, 150, 200])
    """

    _kind = "comparison"

    def __init__(
        self,
        profile: Profile,
        memory: Optional[SizeRange] = None,
        planners: Optional[Sequence[str]] = None,
        *,
        judge: Optional[Profile] = None,
        request: int = 12,
        io: str = "external",
        weights: Optional[str] = None,
        copy: Optional[str] = None,
        copy_rate: Optional[Size] = None,
        copy_latency_us: Optional[float] = None,
        latency_us: Optional[float] = None,
        time_limit_s: Optional[float] = None,
        node_limit: Optional[int] = None,
        seed: Optional[int] = None,
        progress: Optional[ProgressFunction] = None,
    ) -> None:
        problem, keep = problem_of(
            profile,
            None,
            request=request,
            io=io,
            weights=weights,
            copy=copy,
            copy_rate=copy_rate,
            copy_latency_us=copy_latency_us,
            latency_us=latency_us,
        )
        reporter = Progress(progress)
        options = ffi.new("struct vbs_compare_options *")
        options.struct_size = ffi.sizeof("struct vbs_compare_options")
        budgets = ffi.NULL if memory is None else byte_range(memory)
        options.budgets = budgets
        if isinstance(planners, str):
            raise TypeError("planners is a str, not a list of names")
        chosen = [] if planners is None else [find_planner(name) for name in planners]
        if planners is not None and not chosen:
            raise errors.usage("there is no planner to compare")
        self._planners = chosen  # those from outside are given back after the comparison is freed
        array = ffi.new("const struct vbs_planner *[]", chosen) if chosen else ffi.NULL
        options.planners, options.n_planners = array, len(chosen)
        judge_c = profile._use() if judge is None else judge._use()
        options.judge = judge_c
        options.time_limit_s = seconds(time_limit_s, "time_limit_s")
        options.node_limit = 0 if node_limit is None else integer(node_limit, "node_limit", 1, 2**63 - 1)
        options.seed = 0 if seed is None else integer(seed, "seed", 0, 2**63 - 1)
        reporter.fill(options.progress)
        out = ffi.new("struct vbs_compare **")
        samples = _Samples((judge or profile)._origin)
        try:
            options.samples = samples.source
            with Call(progress=reporter) as call:
                call(lib.vbs_compare_run, problem, options, out)
                self._c = ffi.gc(out[0], lib.vbs_compare_free)
                out[0].profile_id = profile.id or 0
                out[0].judge_id = (judge or profile).id or 0
        finally:
            samples.close()
        self._names: List[str] = [text_of(lib.vbs_planner_name(out[0].planners[i])) for i in range(out[0].n_planners)]

    def __repr__(self) -> str:
        if self.closed:
            return "<Comparison, closed>"
        return (
            f"<Comparison of {len(self._names)} planners on {self.model or 'an unknown model'}: {self._use().request} "
            f"samples, {self._use().n_budgets} budgets>"
        )

    def __str__(self) -> str:
        return self.to_text()

    @property
    def model(self) -> str:
        """The name of the network."""
        return text_of(self._use().model)

    @property
    def planners(self) -> List[str]:
        """The names of the planners."""
        return list(self._names)

    @property
    def memory_bytes(self) -> List[int]:
        """The budgets, ascending."""
        c = self._use()
        return list(c.budgets[0 : c.n_budgets])

    def _text(self, function: Any) -> str:
        c, out = self._use(), ffi.new("char **")
        with Call() as call:
            call(function, ffi.new("struct vbs_compare *[]", [c]), 1, out)
            return take_text(out[0])

    def to_text(self, columns: int = 100) -> str:
        """The table for people, as ``vbslab compare`` prints it."""
        c, out = self._use(), ffi.new("char **")
        with Call() as call:
            call(lib.vbs_compare_table, c, integer(columns, "columns", 0, 100000), False, out)
            return take_text(out[0])

    def to_json(self) -> str:
        """The comparison as JSON, as ``vbslab compare --json`` prints it."""
        return self._text(lib.vbs_compare_json)

    def to_csv(self) -> str:
        """The comparison as CSV, as ``vbslab compare --csv`` prints it."""
        return self._text(lib.vbs_compare_csv)

    def to_dataframe(self) -> Any:
        """A row for each planner at each budget, with the keys of the rows of the JSON; ``attrs`` has the others."""
        about = json.loads(self.to_json())
        made = pandas().DataFrame(about["rows"])
        made.attrs.update({name: value for name, value in about.items() if name not in ("rows", "profiles")})
        return made

    def plot(
        self,
        path: Path,
        *,
        size: Optional[Lengths] = None,
        font: Optional[str] = None,
        font_size: Optional[float] = None,
        series: Optional[Sequence[str]] = None,
        data: bool = False,
    ) -> None:
        """Draws throughput against memory, as .svg, .png, .pdf or .tex (by gnuplot).

        Parameters
        ----------
        path : the file; its ending is the format
        size : width and height in inches; the default depends on the picture
        font, font_size : of the text; the size is in points, as printed
        series : the names of the curves to draw, such as "dp-vbs+" or "bound"; the default is all
        data : also write the numbers, as PATH.csv, and a script for gnuplot, PATH.gp
        """
        c = self._use()
        options, _keep = plot_options(size, font, font_size, series, data)
        with Call() as call:
            call(lib.vbs_compare_plot, ffi.new("struct vbs_compare *[]", [c]), 1, options, path_of(path))

    def _repr_html_(self) -> str:
        c = self._use()
        rows = []
        for b in range(c.n_budgets):
            at = [c.rows[b * c.n_planners + i] for i in range(c.n_planners)]
            times = [f"{row.per_sample_us / 1e3:.4g}" if row.feasible else "-" for row in at]
            rows.append((format_bytes(c.budgets[b]), *times))
        return html_table(f"{repr(self)[1:-1]}; ms per sample", ("memory", *self._names), rows)


class _Samples:
    """The single times of a profile that a store has, from which a comparison tells its noise."""

    def __init__(self, origin: Any) -> None:
        self.source, self._samples, self._store = ffi.NULL, ffi.NULL, ffi.NULL
        if origin is None:
            return
        path, number = origin
        store, samples = ffi.new("struct vbs_store **"), ffi.new("struct vbs_store_samples **")
        try:
            with Call() as call:
                call(lib.vbs_store_open, path, lib.VBS_STORE_READ, store)
                self._store = store[0]
                call(lib.vbs_store_samples_open, store[0], number, samples)
                self._samples = samples[0]
                self.source = lib.vbs_store_samples_source(samples[0])
        except errors.StoreError:
            self.close()  # the store is gone; the intervals of the rows serve

    def close(self) -> None:
        lib.vbs_store_samples_free(self._samples)
        lib.vbs_store_close(self._store)
        self.source, self._samples, self._store = ffi.NULL, ffi.NULL, ffi.NULL
