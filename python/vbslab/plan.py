"""Planning: planners, solvers, schedules, frontiers."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import errors
from ._call import Call, Exclusive, Handle, Progress, ProgressFunction
from ._convert import (
    Path,
    Size,
    Texts,
    format_bytes,
    format_us,
    frame,
    html_table,
    integer,
    io_of,
    name_of,
    parse_bytes,
    path_of,
    seconds,
    take_text,
    text_of,
    view,
    weights_of,
)
from ._native import ffi, lib
from ._plot import Lengths, plot_options
from .network import SHOWN_ROWS
from .profile import Profile

NO_BUDGET = 2**63 - 1  # of vbs_solver_least_bytes


class Planner(NamedTuple):
    """A way to make plans."""

    name: str
    summary: str  #: what it does
    source: str  #: the paper and section from which it comes
    cost: str  #: how the time that planning takes grows
    is_baseline: bool
    transfers: bool  #: it loads and evicts weights, and so needs them inside the budget
    is_timed: bool  #: its plans get better with more time
    estimates: bool  #: it has bytes and times, but no schedules


def planners() -> List[Planner]:
    """All planners, baselines first.

    >>> [planner.name for planner in vbslab.planners()][:4]
    ['fbs', 'fbs-best', 'greedy-vbs', 'dp-monotone']
    """
    made: List[Planner] = []
    while True:
        c = lib.vbs_planner_at(len(made))
        if c == ffi.NULL:
            return made
        made.append(
            Planner(
                text_of(lib.vbs_planner_name(c)),
                text_of(lib.vbs_planner_summary(c)),
                text_of(lib.vbs_planner_source(c)),
                text_of(lib.vbs_planner_cost(c)),
                lib.vbs_planner_is_baseline(c),
                lib.vbs_planner_transfers(c),
                lib.vbs_planner_is_timed(c),
                lib.vbs_planner_estimates(c),
            )
        )


def find_planner(name: str) -> Any:
    """A planner of the library, or one from outside (exec:PROGRAM, so:FILE), which is given back."""
    out = ffi.new("const struct vbs_planner **")
    with Call() as call:
        call(lib.vbs_planner_load, name_of(name, "planner"), out)
        return ffi.gc(out[0], lib.vbs_planner_unload)


def _rate(copy_rate: Optional[Size]) -> Optional[float]:
    return None if copy_rate is None else parse_bytes(copy_rate) / 1e6


def problem_of(
    profile: Profile,
    planner: Any,
    *,
    request: int = 12,
    io: str = "external",
    weights: Optional[str] = None,
    copy: Optional[str] = None,
    copy_rate: Optional[Size] = None,
    copy_latency_us: Optional[float] = None,
    latency_us: Optional[float] = None,
) -> Tuple[Any, Any]:
    """A struct vbs_problem, and what has to live as long."""
    c, texts = profile._use(), Texts()
    problem = ffi.new("struct vbs_problem *")
    problem.profile = c
    problem.request = integer(request, "request", 1, lib.VBS_MAX_REQUEST)
    problem.io = io_of(io)
    problem.latency_us = seconds(latency_us, "latency_us")
    transfers = planner is not None and lib.vbs_planner_transfers(planner)
    problem.weights = weights_of(weights or ("included" if transfers else "excluded"))
    given = {"copy": copy, "copy_rate": copy_rate, "copy_latency_us": copy_latency_us}
    if problem.weights == lib.VBS_WEIGHTS_EXCLUDED:
        for name, value in given.items():
            if value is not None:
                raise errors.usage(f"{name} is for weights included; excluded ones are never copied")
        return problem, (c, texts)
    sources = {link.source: i for i, link in enumerate(profile.copies)}
    if copy is not None and copy not in sources:
        has = f"it has: {', '.join(sources)}" if sources else "it has none at all"
        raise errors.usage(f"the profile has no copies from '{copy}'; {has}")
    if sources:
        problem.copy = c.copies[sources[copy] if copy is not None else 0].link
    else:
        problem.copy.source = texts("given")
    if copy_rate is not None or copy_latency_us is not None:
        problem.copy.source = texts("given")
    if copy_rate is not None:
        problem.copy.bytes_per_us = _rate(copy_rate)
    if copy_latency_us is not None:
        problem.copy.latency_us = float(copy_latency_us)
        if not 0 <= problem.copy.latency_us <= 1e12:
            raise errors.usage(f"copy_latency_us is {copy_latency_us:g}; 0 to 1e12 are possible")
    return problem, (c, texts)


def choose_planner(planner: Optional[str], weights: Optional[str]) -> str:
    """The planner that the program takes where none is named."""
    if planner is not None:
        return planner
    return "joint" if weights is not None and weights_of(weights) == lib.VBS_WEIGHTS_INCLUDED else "dp-vbs+"


def one_budget(memory: Optional[Size], total_memory: Optional[Size]) -> Tuple[int, int]:
    """The budget of an arena and the limit of the process, one of which is given; 0: it is not."""
    if memory is not None and total_memory is not None:
        raise errors.usage("takes one of memory and total_memory")
    if total_memory is None:
        if memory is None:
            raise errors.usage("needs memory, a budget to plan for, or total_memory")
        return parse_bytes(memory), 0
    limit = parse_bytes(total_memory)
    if limit == 0:
        raise errors.usage("total_memory is 0; it has to be 1 byte or more")
    return 0, limit


def memory_options(threads: int, process_bytes: int) -> Any:
    """A struct vbs_exec_memory_options."""
    options = ffi.new("struct vbs_exec_memory_options *")
    options.struct_size = ffi.sizeof("struct vbs_exec_memory_options")
    options.threads, options.process_bytes = threads, process_bytes
    return options


class ProcessMemory(NamedTuple):
    """What a process takes that runs a schedule, by parts, in bytes: an estimate, made without a run."""

    process_bytes: int  #: there before planning: Python, the libraries, and all that is loaded
    planning_bytes: int  #: of the solver
    library_bytes: int  #: code of the backend's library that kernels bring in
    kernel_bytes: int
    weight_bytes: int  #: packed weights beside the arena; 0 with weights included
    packing_bytes: int  #: of weights while they are packed
    arena_bytes: int  #: its pages that the schedule uses
    value_bytes: int  #: inputs and outputs of the request
    thread_bytes: int
    more_bytes: int
    total_bytes: int  #: the most that is there at once, and a sixteenth by which processes differ


class Infeasibility(NamedTuple):
    """Why budgets below ``least_bytes`` are infeasible, and what would make smaller ones feasible.

    None stands for what is not known, or for a change that does not help.
    """

    least_bytes: Optional[int]  #: None: no budget works, because of the latency
    layer: int  #: of the largest step of the plan for least_bytes, as are the next four
    batch: int
    tensor_bytes: int
    ws_bytes: int
    extra_reserved_bytes: int
    without_ws_bytes: Optional[int]  #: the least budget without workspace in the rows of that layer
    external_bytes: Optional[int]  #: ... with io external
    without_latency_bytes: Optional[int]  #: ... without a bound of the latency
    other_bytes: Optional[int]  #: ... with the planner that needs least
    other: Optional[str]  #: the name of that planner
    least_latency_us: Optional[float]  #: where no budget works: the least latency that does
    external_latency_us: Optional[float]
    other_latency_us: Optional[float]


class Solver(Exclusive):
    """A planner at work on one profile and request, which plans for any number of budgets.

    Parameters
    ----------
    profile : the :class:`Profile` to plan on
    planner : a name of :func:`planners`, or one from outside, "exec:PROGRAM" or "so:FILE"
        (docs/outside.md); the default is "dp-vbs+", or "joint" with weights included
    request : samples that a schedule brings through the network, 1 to 4096
    io : "external" or "resident": whether the request's inputs and outputs live outside the budget
    weights : "excluded" (default) or "included"; mmcnn, vdnn and joint include them by default
    copy : with weights included, the source of copies (:attr:`Profile.copies`); the default is the first
    copy_rate, copy_latency_us : bytes a second, such as "5GB", and microseconds of each copy, in place
        of what was measured
    latency_us : no sample waits longer than so many microseconds
    time_limit_s : of planners optimal, joint, dp-vbs+ and those from outside: seconds after which a search ends with the best
        so far
    node_limit, seed : of planner optimal: the states that a search expands, and where it begins
    table : of planner dp-vbs: plan in a table with steps of this size, as the paper prints it
    most_memory : the largest budget that will be asked for; planning then takes less time
    progress : a function of (share done, seconds left or None, text); what it raises ends the call

    One thread at a time uses a solver; another one that calls it waits.

    >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
    >>> with vbslab.Solver(profile, "optimal", request=4) as solver:
    ...     solver.least_bytes < 100000, solver.plan("1MiB").gap_percent
    (True, 0.0)
    """

    _kind = "solver"

    def __init__(
        self,
        profile: Profile,
        planner: Optional[str] = None,
        *,
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
        table: Optional[Size] = None,
        most_memory: Optional[Size] = None,
        progress: Optional[ProgressFunction] = None,
    ) -> None:
        super().__init__()
        self.planner = choose_planner(planner, weights)
        self.best_so_far: Optional[Schedule] = None  #: the schedule of a search that Ctrl-C ended
        c = find_planner(self.planner)
        self._problem, keep = problem_of(
            profile,
            c,
            request=request,
            io=io,
            weights=weights,
            copy=copy,
            copy_rate=copy_rate,
            copy_latency_us=copy_latency_us,
            latency_us=latency_us,
        )
        self._profile_id, self._profile_c = profile.id, self._problem.profile
        self._progress = Progress(progress)
        hash_text = ffi.new("char[]", profile.hash.encode())
        options = ffi.new("struct vbs_solver_options *")
        options.struct_size = ffi.sizeof("struct vbs_solver_options")
        self._set_limits(options, time_limit_s, node_limit, seed, table)
        options.most_bytes = 0 if most_memory is None else parse_bytes(most_memory)
        if table is not None and most_memory is not None and options.table_bytes > options.most_bytes:
            raise errors.usage(f"table {table} is more than memory {most_memory}")
        options.profile_hash = hash_text
        self._progress.fill(options.progress)
        self._request, self._io = int(self._problem.request), text_of(lib.vbs_io_word(self._problem.io))
        self._keep = (keep, self._progress, self._problem)
        out = ffi.new("struct vbs_solver **")
        with Call(progress=self._progress) as call:
            self._process_bytes = int(lib.vbs_exec_process_bytes())  # without what the solver takes
            call(lib.vbs_solver_new, c, self._problem, options, out)
            self._c = ffi.gc(out[0], lib.vbs_solver_free)

    def _set_limits(self, options: Any, limit: Any, nodes: Any, seed: Any, table: Any) -> None:
        searches = self.planner == "optimal"
        outside = self.planner.startswith(("exec:", "so:"))
        if limit is not None and not (searches or outside or self.planner in ("joint", "dp-vbs+")):
            raise errors.usage(f"time_limit_s is for planner optimal, joint or dp-vbs+; {self.planner} does not search")
        for name, value in (("node_limit", nodes), ("seed", seed)):
            if value is not None and not searches:
                raise errors.usage(f"{name} is for planner optimal; {self.planner} does not search")
        if table is not None and self.planner != "dp-vbs":
            raise errors.usage(f"table is for planner dp-vbs; {self.planner} has no tables")
        options.time_limit_s = seconds(limit, "time_limit_s")
        options.node_limit = 0 if nodes is None else integer(nodes, "node_limit", 1, NO_BUDGET)
        options.seed = 0 if seed is None else integer(seed, "seed", 0, NO_BUDGET)
        if table is not None:
            options.table_bytes = parse_bytes(table)
            if options.table_bytes == 0:
                raise errors.usage(f"table {table!r} is no step; write for example '2MB'")

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Solver {self.planner}: {self._request} samples, io {self._io}{state}>"

    def plan(self, memory: Optional[Size] = None, *, total_memory: Optional[Size] = None) -> "Schedule":
        """Makes the schedule for a budget.

        Parameters
        ----------
        memory : the budget, which is the size of the arena, as "20MiB" or in bytes
        total_memory : in place of memory: this process takes at most so much when it runs the schedule,
            by the estimate of :meth:`Profile.process_memory`, with Python and all that is loaded when the
            solver is made

        A search that Ctrl-C ends after it has found a schedule leaves it in ``best_so_far``, with its
        proven gap, and KeyboardInterrupt is raised. :class:`InfeasibleError` has ``least_bytes``: with
        total_memory what the process would take about with the least plan.
        """
        budget, limit = one_budget(memory, total_memory)
        out = ffi.new("struct vbs_schedule **")
        estimated = ffi.new("struct vbs_exec_memory *")
        with Call(self, progress=self._progress) as call:
            try:
                if limit:
                    options = memory_options(0, self._process_bytes)
                    call(lib.vbs_exec_plan_within, self._c, self._profile_c, limit, options, estimated, out)
                else:
                    call(lib.vbs_solver_plan, self._c, budget, out)
            except errors.InfeasibleError as error:
                least = estimated.total_bytes or None if limit else _budget(lib.vbs_solver_least_bytes(self._c))
                error.least_bytes = least
                raise
            made = Schedule._adopt(out[0])
            out[0].provenance.profile_id = self._profile_id or 0
            if out[0].solver.interrupted:
                self.best_so_far = made
        return made

    def frontier(self) -> "Frontier":
        """Makes the exact curve: a point for each budget at which the plan changes."""
        out = ffi.new("struct vbs_frontier **")
        with Call(self, progress=self._progress) as call:
            call(lib.vbs_solver_frontier, self._c, out)
            return Frontier._adopt(out[0], self)

    @property
    def least_bytes(self) -> Optional[int]:
        """The least budget for which there is a schedule; None: there is none, because of the latency."""
        with Call(self):
            return _budget(lib.vbs_solver_least_bytes(self._c))

    @property
    def peak_bytes(self) -> int:
        """The most memory that the solver itself has held so far."""
        with Call(self):
            return int(lib.vbs_solver_peak_bytes(self._c))

    def explain(self) -> Infeasibility:
        """Why smaller budgets do not work, and what would help. It plans again for each change."""
        out = ffi.new("struct vbs_infeasibility *")
        with Call(self, progress=self._progress) as call:
            call(lib.vbs_solver_explain, self._c, out)

        def known(value: Any) -> Any:
            return None if value < 0 else value

        return Infeasibility(
            _budget(out.least_bytes),
            out.step.layer,
            out.step.batch,
            out.tensor_bytes,
            out.ws_bytes,
            out.extra_reserved_bytes,
            known(out.without_ws_bytes),
            known(out.external_bytes),
            known(out.without_latency_bytes),
            known(out.other_bytes),
            text_of(lib.vbs_planner_name(out.other)) if out.other != ffi.NULL else None,
            known(out.least_latency_us),
            known(out.external_latency_us),
            known(out.other_latency_us),
        )


def _budget(value: int) -> Optional[int]:
    return None if value == NO_BUDGET else int(value)


class Schedule(Handle):
    """A list of steps that brings a request through a network, with what its planner predicts.

    ``Schedule(path)`` reads the JSON that ``vbslab plan --json`` or :meth:`to_json` wrote. Schedules
    are immutable; threads may share them.
    """

    _kind = "schedule"

    def __init__(self, path: Path) -> None:
        name, out = path_of(path), ffi.new("struct vbs_schedule **")
        with Call() as call:
            call(lib.vbs_schedule_read_json, name, out, path=name)
            self._c = ffi.gc(out[0], lib.vbs_schedule_free)

    @classmethod
    def _adopt(cls, c: Any) -> "Schedule":
        made = cls.__new__(cls)
        made._c = ffi.gc(c, lib.vbs_schedule_free)
        return made

    def _share(self) -> "Schedule":
        """The same schedule, for an object that outlives this one."""
        made = type(self).__new__(type(self))
        made._c = self._use()
        return made

    @classmethod
    def from_json(cls, text: str, *, source: str = "text") -> "Schedule":
        """A schedule from a text of JSON, such as that of :meth:`to_json`."""
        data, out = text.encode(), ffi.new("struct vbs_schedule **")
        with Call() as call:
            call(lib.vbs_schedule_parse_json, name_of(source, "source"), data, len(data), out)
            return cls._adopt(out[0])

    def to_json(self, path: Optional[Path] = None) -> Optional[str]:
        """Writes the schedule as JSON to a path; without a path, gives the text.

        Both are what ``vbslab plan --json`` writes, to the byte.
        """
        c = self._use()
        with Call() as call:
            if path is not None:
                call(lib.vbs_schedule_write_json, c, path_of(path))
                return None
            out = ffi.new("char **")
            call(lib.vbs_schedule_json, c, out)
            return take_text(out[0])

    def __reduce__(self) -> Tuple[Any, ...]:
        return Schedule.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        if self.closed:
            return "<Schedule, closed>"
        s = "" if self.request == 1 else "s"
        return (
            f"<Schedule {self.planner} of {self.model or 'an unknown model'}: {self.request} sample{s} in "
            f"{format_bytes(self.memory_bytes)}, {format_us(self.time_us)}, peak {format_bytes(self.peak_bytes)}, "
            f"gap {self.gap_percent:.3g}%, {self.n_steps} steps>"
        )

    @property
    def model(self) -> str:
        """The name of the network."""
        return text_of(self._use().model)

    @property
    def planner(self) -> str:
        """The name of the planner."""
        return text_of(self._use().planner)

    @property
    def request(self) -> int:
        """The number of samples."""
        return int(self._use().request)

    @property
    def memory_bytes(self) -> int:
        """The budget for which it was planned."""
        return int(self._use().memory_bytes)

    @property
    def io(self) -> str:
        """Where inputs and outputs live: "external" or "resident"."""
        return text_of(lib.vbs_io_word(self._use().io))

    @property
    def weights(self) -> str:
        """Where weights live: "excluded" or "included"."""
        return text_of(lib.vbs_weights_word(self._use().weights))

    @property
    def time_us(self) -> float:
        """The predicted time of the request."""
        return float(self._use().predicted.time_us)

    @property
    def per_sample_us(self) -> float:
        """The predicted time divided by the number of samples."""
        return self.time_us / self.request

    @property
    def samples_per_s(self) -> float:
        """The predicted throughput; inf where nothing takes time."""
        return 1e6 / self.per_sample_us if self.per_sample_us > 0 else float("inf")

    @property
    def peak_bytes(self) -> int:
        """The largest memory of a step, by the exact accounting."""
        return int(self._use().predicted.peak_bytes)

    @property
    def reserved_bytes(self) -> int:
        """The memory that the planner sets aside by its own rule; at least the peak."""
        return int(self._use().predicted.reserved_bytes)

    @property
    def latency_us(self) -> float:
        """The longest wait of a sample, predicted."""
        return float(self._use().predicted.latency_us)

    @property
    def resident_bytes(self) -> int:
        """With weights included: the bytes of weights that stay in memory between requests."""
        return int(self._use().predicted.resident_bytes)

    @property
    def copied_bytes(self) -> int:
        """With weights included: the bytes that are loaded during a request."""
        return int(self._use().predicted.copied_bytes)

    @property
    def bound_us(self) -> float:
        """A lower bound: no schedule of this request in this budget takes less."""
        return float(self._use().bound.time_us)

    @property
    def gap_percent(self) -> float:
        """How far the time is above the bound; 0: proven to be the fastest."""
        return float(self._use().bound.gap_percent)

    @property
    def interrupted(self) -> bool:
        """Whether the search was ended, so that this is the best schedule until then."""
        return bool(self._use().solver.interrupted)

    @property
    def fits(self) -> bool:
        """Whether the predicted peak is within the budget."""
        return self.peak_bytes <= self.memory_bytes

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return int(self._use().n_steps)

    @property
    def algorithms(self) -> Tuple[str, ...]:
        """The names of the algorithms, which the steps number."""
        c = self._use()
        return tuple(text_of(c.algorithms[i]) for i in range(c.n_algorithms))

    @property
    def layer_names(self) -> Optional[Tuple[str, ...]]:
        """The names of the layers, the first of which is layer 1; None where they are not known."""
        c = self._use()
        if c.layer_names == ffi.NULL:
            return None
        return tuple(text_of(c.layer_names[k]) for k in range(1, c.n_layers + 1))

    @property
    def steps(self) -> np.ndarray:
        """The steps, as a read-only array of struct vbs_step, without a copy."""
        c = self._use()
        return view(c.steps, c.n_steps, "struct vbs_step", c)

    def _columns(self) -> Dict[str, Any]:
        steps, names, algorithms = self.steps, self.layer_names, np.array([*self.algorithms, None], object)
        words = np.array([text_of(lib.vbs_step_word(op)) for op in range(3)], object)
        compute = steps["op"] == lib.VBS_STEP_COMPUTE
        whole = steps["n_slices"] <= 1
        of_layer = (
            np.array(["", *names], object) if names else np.full(int(steps["layer"].max(initial=0)) + 1, "", object)
        )
        return {
            "step": np.arange(1, len(steps) + 1),
            "op": words[steps["op"]],
            "layer": steps["layer"],
            "name": of_layer[steps["layer"]],
            "batch": steps["batch"],
            "algorithm": algorithms[np.where(compute, steps["algorithm"], -1)],
            "part": np.where(whole, 1, steps["slice"]),
            "parts": np.where(whole, 1, steps["n_slices"]),
            "bytes": steps["bytes"],
            "form": steps["format"],
            "resident": steps["resident"],
        }

    def to_dataframe(self) -> Any:
        """The steps as a DataFrame; steps count from 1, as in messages."""
        about = {"model": self.model, "planner": self.planner, "request": self.request}
        return frame(self._columns(), {**about, "memory_bytes": self.memory_bytes})

    def _repr_html_(self) -> str:
        columns = self._columns()
        names = ("step", "op", "layer", "name", "batch", "algorithm")
        rows = list(zip(*(columns[name][:SHOWN_ROWS] for name in names)))
        return html_table(repr(self)[1:-1], names, rows, self.n_steps - len(rows))


def _is_same_problem(a: Any, b: Any) -> bool:
    """Whether two problems have one axis of memory and one of throughput."""
    return (a.profile, a.request, a.io, a.weights, a.latency_us) == (b.profile, b.request, b.io, b.weights, b.latency_us)


class Frontier(Handle):
    """Time as an exact step function of the budget.

    Point i holds for budgets from ``memory_bytes[i]`` up to the next point's, which is excluded.

    >>> curve = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4").frontier(request=4)
    >>> bool((curve.memory_bytes[1:] > curve.memory_bytes[:-1]).all())
    True
    """

    _kind = "frontier"
    _problem: Any  # which the curve is drawn for
    _keep: Any  # what the problem borrows

    @classmethod
    def _adopt(cls, c: Any, solver: Solver) -> "Frontier":
        made = cls.__new__(cls)
        made._c = ffi.gc(c, lib.vbs_frontier_free)
        made._problem, made._keep = solver._problem, solver._keep
        made.planner, made.request, made.io = solver.planner, solver._request, solver._io
        made.model = text_of(solver._profile_c.provenance.model)
        return made

    planner: str  #: the name of the planner
    request: int  #: the number of samples
    io: str  #: where inputs and outputs live
    model: str  #: the name of the network

    def __repr__(self) -> str:
        if self.closed:
            return "<Frontier, closed>"
        return (
            f"<Frontier {self.planner} of {self.model or 'an unknown model'}: {self.request} samples, {len(self)} points "
            f"from {format_bytes(int(self.memory_bytes[0]))} to {format_bytes(int(self.memory_bytes[-1]))}>"
        )

    def __len__(self) -> int:
        return int(self._use().n_points)

    @property
    def points(self) -> np.ndarray:
        """The points, as a read-only array of memory_bytes and time_us, without a copy."""
        c = self._use()
        return view(c.points, c.n_points, "struct vbs_frontier_point", c)

    @property
    def memory_bytes(self) -> np.ndarray:
        """The budgets at which the plan changes, ascending."""
        return self.points["memory_bytes"]

    @property
    def time_us(self) -> np.ndarray:
        """The times of the whole request; inf: there is no plan."""
        return self.points["time_us"]

    @property
    def interrupted(self) -> bool:
        """Whether the search was ended, so that points may be missing."""
        return bool(self._use().interrupted)

    def time_at(self, memory: Size) -> float:
        """The time of the request within a budget; inf where it is infeasible."""
        i = int(np.searchsorted(self.memory_bytes, parse_bytes(memory), side="right"))
        return float(self.time_us[i - 1]) if i else float("inf")

    def plot(
        self,
        path: Path,
        *,
        beside: Sequence["Frontier"] = (),
        size: Optional[Lengths] = None,
        font: Optional[str] = None,
        font_size: Optional[float] = None,
        series: Optional[Sequence[str]] = None,
        data: bool = False,
    ) -> None:
        """Draws throughput against memory as a step function, with the curves of other planners ``beside`` it.

        The other parameters are those of :meth:`Comparison.plot`. The curves must be those of one profile and request.
        """
        curves = [self, *beside]
        for curve in curves:
            if not isinstance(curve, Frontier):
                raise TypeError(f"beside has a {type(curve).__name__}, not a Frontier")
            if not _is_same_problem(curve._problem, self._problem):
                raise errors.usage(f"the curve of {curve.planner} is that of another profile, request or constraint")
        pointers = [curve._use() for curve in curves]
        planners = [find_planner(curve.planner) for curve in curves]
        options, _keep = plot_options(size, font, font_size, series, data)
        with Call() as call:
            call(
                lib.vbs_frontier_plot,
                self._problem,
                ffi.new("const struct vbs_planner *[]", planners),
                ffi.new("const struct vbs_frontier *[]", pointers),
                len(curves),
                options,
                path_of(path),
            )

    def _columns(self) -> Dict[str, np.ndarray]:
        per_sample = self.time_us / self.request
        with np.errstate(divide="ignore"):
            rate = np.where(per_sample > 0, 1e6 / per_sample, 0)
        return {
            "memory_bytes": self.memory_bytes,
            "time_us": self.time_us,
            "per_sample_us": per_sample,
            "samples_per_s": rate,
        }

    def to_dataframe(self) -> Any:
        """The points as a DataFrame, with the columns of ``vbslab frontier --csv``."""
        about = {"model": self.model, "planner": self.planner, "request": self.request, "io": self.io}
        return frame(self._columns(), about)

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = [
            (format_bytes(int(memory)), format_us(float(time)), f"{rate:.5g}")
            for memory, time, rate in list(
                zip(columns["memory_bytes"], columns["per_sample_us"], columns["samples_per_s"])
            )[:SHOWN_ROWS]
        ]
        return html_table(repr(self)[1:-1], ("memory", "time per sample", "samples/s"), rows, len(self) - len(rows))
