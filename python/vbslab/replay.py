"""Replay: the simulator that judges schedules. It knows no planner."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

import numpy as np

from . import errors
from ._call import Call, Handle
from ._convert import Path, Size, format_bytes, format_us, frame, html_table, parse_bytes, path_of, seconds, view
from ._native import ffi, lib
from ._plot import Lengths, plot_options
from .executor import Run, report_of
from .network import SHOWN_ROWS
from .plan import Schedule
from .profile import Profile


class Replay(Handle):
    """The verdict on a schedule: memory, time and latency as docs/accounting.md counts them.

    Parameters
    ----------
    profile : the :class:`Profile` to judge by
    schedule : the :class:`Schedule`
    memory : the budget to judge by; the default is the schedule's own
    latency_us : the latency to judge by; the default is the schedule's own, if it has one
    trace : keep every step, in ``steps``

    A schedule that breaks its budget is a result (``fits`` is False), not an error. A schedule of
    another network raises :class:`InvalidError`.

    >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
    >>> verdict = profile.replay(profile.plan("100KiB", request=8))
    >>> verdict.fits, verdict.violation_step is None
    (True, True)
    """

    _kind = "replay"

    def __init__(
        self,
        profile: Profile,
        schedule: Schedule,
        *,
        memory: Optional[Size] = None,
        latency_us: Optional[float] = None,
        trace: bool = True,
    ) -> None:
        if not isinstance(schedule, Schedule):
            raise TypeError(f"schedule is a {type(schedule).__name__}, not a Schedule")
        self._profile_c, self._schedule_c = profile._use(), schedule._use()
        self._schedule = schedule._share()
        judged = ffi.new("struct vbs_schedule *", self._schedule_c[0])
        if latency_us is not None:
            judged.latency_us = seconds(latency_us, "latency_us")
        budget = -1 if memory is None else parse_bytes(memory)
        out = ffi.new("struct vbs_replay **")
        with Call() as call:
            call(lib.vbs_replay_run, self._profile_c, judged, budget, trace, out)
            self._c = ffi.gc(out[0], lib.vbs_replay_free)
            out[0].profile_id = profile.id or 0

    def __repr__(self) -> str:
        if self.closed:
            return "<Replay, closed>"
        verdict = "fits" if self.fits else f"breaks the budget at step {(self.violation_step or 0) + 1}"
        return (
            f"<Replay: peak {format_bytes(self.peak_bytes)} in {format_bytes(self.memory_bytes)}, "
            f"{verdict}, {format_us(self.time_us)}>"
        )

    @property
    def memory_bytes(self) -> int:
        """The budget that was judged."""
        return int(self._use().memory_bytes)

    @property
    def time_us(self) -> float:
        """The time of the request."""
        return float(self._use().time_us)

    @property
    def compute_us(self) -> float:
        """The sum of the compute steps."""
        return float(self._use().compute_us)

    @property
    def copy_us(self) -> float:
        """The sum of the loads that are not resident."""
        return float(self._use().copy_us)

    @property
    def copied_bytes(self) -> int:
        """The bytes of these loads."""
        return int(self._use().copied_bytes)

    @property
    def resident_bytes(self) -> int:
        """The bytes of weights that stay in memory."""
        return int(self._use().resident_bytes)

    @property
    def peak_bytes(self) -> int:
        """The largest memory of a step."""
        return int(self._use().peak_bytes)

    @property
    def peak_step(self) -> int:
        """The index in ``steps`` of the first step that reaches the peak."""
        return int(self._use().peak_step)

    @property
    def fits(self) -> bool:
        """Whether the peak is within the budget."""
        return bool(self._use().fits)

    @property
    def violation_step(self) -> Optional[int]:
        """The index in ``steps`` of the first step above the budget; None: it fits."""
        step = int(self._use().violation_step)
        return None if step < 0 else step

    @property
    def latency_us(self) -> float:
        """The longest wait of a sample."""
        return float(self._use().latency_us)

    @property
    def in_time(self) -> bool:
        """Whether the latency is within its bound, or there is none."""
        return bool(self._use().in_time)

    @property
    def steps(self) -> np.ndarray:
        """The trace, as a read-only array of struct vbs_replay_step, without a copy."""
        c = self._use()
        if c.steps == ffi.NULL:
            raise errors.usage("the replay has no trace; make it with trace=True")
        return view(c.steps, c.n_steps, "struct vbs_replay_step", c)

    def _write(self, own: Any, beside: Any, run: Optional[Run], *arguments: Any) -> None:
        """Calls one of two functions of the library: that of the replay, or that of a run beside it."""
        of = self._profile_c, self._schedule_c, self._use()
        with Call() as call:
            if run is None:
                call(own, *of, *arguments)
            else:
                report, _keep = report_of(run)
                call(beside, *of, report, *arguments)

    def to_csv(self, path: Path, *, run: Optional[Run] = None) -> None:
        """Writes the trace as ``vbslab replay --trace`` does, or that of a run beside it, as ``vbslab run --trace``."""
        self._write(lib.vbs_replay_write_csv, lib.vbs_executed_write_csv, run, path_of(path))

    def to_events(self, path: Path, *, run: Optional[Run] = None) -> None:
        """Writes the trace as Chrome trace events in JSON, which Perfetto opens, with those of a run beside it."""
        self._write(lib.vbs_replay_write_events, lib.vbs_executed_write_events, run, path_of(path))

    def plot(
        self,
        path: Path,
        *,
        run: Optional[Run] = None,
        size: Optional[Lengths] = None,
        font: Optional[str] = None,
        font_size: Optional[float] = None,
        series: Optional[Sequence[str]] = None,
        data: bool = False,
    ) -> None:
        """Draws the steps over time and the memory in use, as .svg, .png, .pdf or .tex (by gnuplot).

        With a ``run`` of the schedule, which was made with ``trace=True``, the picture shows the run below the replay. The
        other parameters are those of :meth:`Comparison.plot`; series are "weights", "tensors", "workspace" and "budget".
        """
        options, _keep = plot_options(size, font, font_size, series, data)
        self._write(lib.vbs_replay_plot, lib.vbs_executed_plot, run, options, path_of(path))

    def _columns(self) -> Dict[str, Any]:
        at = self.steps
        steps = self._schedule._columns()
        compute = np.array([op == "compute" for op in steps["op"]])
        one = {name: steps[name] for name in ("step", "layer", "name", "batch", "algorithm")}
        return {
            **one,
            "done_before": np.where(compute, at["done_before"], 0),
            **{n: at[n] for n in ("start_us", "end_us", "live_bytes", "added_bytes", "ws_bytes")},
            "memory_bytes": at["memory_bytes"],
            "after_bytes": at["after_bytes"],
            "over_budget": at["memory_bytes"] > self.memory_bytes,
            "chunk": at["chunk"],
            "wait_us": at["wait_us"],
            **{name: steps[name] for name in ("op", "part", "parts")},
            "weight_bytes": at["weight_bytes"],
        }

    def to_dataframe(self) -> Any:
        """The trace as a DataFrame, with the columns of ``vbslab replay --trace``; steps count from 1."""
        return frame(self._columns(), {"memory_bytes": self.memory_bytes, "fits": self.fits})

    def _repr_html_(self) -> str:
        if self._use().steps == ffi.NULL:
            return html_table(repr(self)[1:-1], (), ())
        columns = self._columns()
        names = ("step", "name", "batch", "start_us", "end_us", "memory_bytes")
        rows = list(zip(*(columns[name][:SHOWN_ROWS] for name in names)))
        return html_table(repr(self)[1:-1], names, rows, len(columns["step"]) - len(rows))
