"""Executing schedules for real, inside an arena of exactly the budget."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import warnings
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import errors
from ._call import Call, Exclusive, Progress, ProgressFunction
from ._convert import (
    Path,
    Size,
    Texts,
    dims_of,
    dtype_of,
    format_bytes,
    format_us,
    html_table,
    integer,
    io_of,
    parse_bytes,
    seconds,
    text_of,
    threads_of,
    view,
    weights_of,
)
from ._native import ffi, lib
from .network import Input, Network, Output, batch_shape_of, inputs_of
from .plan import Schedule, choose_planner, find_planner, one_budget
from .profile import Profile

Inputs = Union[np.ndarray, Mapping[str, np.ndarray]]
Outputs = Union[np.ndarray, Sequence[np.ndarray], Mapping[str, np.ndarray]]


class Placement(NamedTuple):
    """Where the buffers of a schedule lie in the arena; the members of struct vbs_exec_placement."""

    live_bytes: int
    load_bytes: int
    placed_bytes: int
    n_buffers: int
    n_moves: int
    moved_bytes: int
    n_delayed: int
    place_s: float


@dataclasses.dataclass(frozen=True, repr=False)
class Run:
    """The outputs and the report of one run. Times are microseconds."""

    outputs: Dict[str, np.ndarray]  #: by the names of the network's outputs
    time_us: float  #: of the request
    compute_us: float  #: the sum of the compute steps
    copy_us: float  #: the sum of the loads that are not resident
    waited_us: float  #: compute steps waited for loads
    io_us: float  #: copying inputs and outputs
    copied_bytes: int
    touched_bytes: int  #: pages of the arena that are resident after the run
    base_bytes: int  #: resident memory of the process before the run, without the arena
    high_water_bytes: int  #: the largest resident memory during the run, above base_bytes; -1: not known
    heap_bytes: int
    file_bytes: int
    steps: Optional[np.ndarray]  #: with trace: start_us and end_us of each step of the schedule

    @property
    def output(self) -> np.ndarray:
        """The first output."""
        return next(iter(self.outputs.values()))

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {'x'.join(map(str, array.shape))}" for name, array in self.outputs.items())
        return f"<Run: {format_us(self.time_us)}, {shapes}>"

    def _repr_html_(self) -> str:
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("outputs", "steps")]
        return html_table(repr(self)[1:-1], ("", ""), [(name, getattr(self, name)) for name in names])


def _fields(kind: type) -> List[str]:
    return [field.name for field in dataclasses.fields(kind) if field.name not in ("outputs", "steps")]


def report_of(run: Run) -> Tuple[Any, Any]:
    """A run as a struct vbs_exec_report, and what has to live as long."""
    if not isinstance(run, Run):
        raise TypeError(f"run is a {type(run).__name__}, not a Run")
    report = ffi.new("struct vbs_exec_report *", {name: getattr(run, name) for name in _fields(Run)})
    if run.steps is None:
        return report, None
    steps = np.ascontiguousarray(run.steps, dtype_of("struct vbs_exec_step"))
    report.n_steps = len(steps)
    report.steps = ffi.cast("const struct vbs_exec_step *", ffi.from_buffer(steps))
    return report, steps


class Executor(Exclusive):
    """A schedule with its kernels, its arena and its packed weights, ready to run.

    ``Executor(network, profile, schedule)`` runs this schedule. ``Executor(network, profile,
    memory=..., request=...)`` plans first; where the buffers of a plan cannot be placed within the
    budget, plans for smaller budgets are tried. ``Executor(network, profile, total_memory=...,
    request=...)`` plans so that this whole process takes at most so much, by the estimate of
    :meth:`Profile.process_memory`; what is prepared never exceeds it.

    Parameters
    ----------
    network : the :class:`Network`; it is borrowed
    profile : the :class:`Profile` of the network on a backend of this machine
    schedule : the :class:`Schedule` to run
    memory : the budget, which is the size of the arena; the default is the schedule's
    total_memory : in place of memory, the limit of the whole process. What it takes when the executor is
        made, Python and arrays included, is part of it, and so are the inputs and outputs of one request;
        arrays of yours that come later are not
    request, planner, io, weights, copy, latency_us : of planning, as in :class:`Solver`
    threads : threads that compute; 0: as many as the profile was measured with, if this machine has them
    folder : where packed weights are kept; the default is the current folder
    weights_file, direct, debug_checks, trace : with a schedule only, as the options of ``vbslab run``
    progress : a function of (share done, seconds left or None, text), of the preparation
    times_only : runs do not ask the system for memory, which takes up to 1 ms and slows short runs; their figures of memory are -1

    One thread at a time uses an executor; another one that calls it waits.

    >>> import numpy
    >>> network = vbslab.Network("lenet-5")
    >>> profile = network.measure(batches=[1, 4], time_limit_s=0.1, copies=False)
    >>> with vbslab.Executor(network, profile, memory="1MiB", request=4) as executor:
    ...     run = executor.run(numpy.zeros((4, 1, 28, 28), numpy.float32))
    ...     run.output.shape
    (4, 10)
    """

    _kind = "executor"

    def __init__(
        self,
        network: Network,
        profile: Profile,
        schedule: Optional[Schedule] = None,
        *,
        memory: Optional[Size] = None,
        total_memory: Optional[Size] = None,
        request: Optional[int] = None,
        planner: Optional[str] = None,
        io: Optional[str] = None,
        weights: Optional[str] = None,
        copy: Optional[str] = None,
        latency_us: Optional[float] = None,
        threads: int = 0,
        folder: Optional[Path] = None,
        weights_file: Optional[Path] = None,
        direct: bool = False,
        debug_checks: bool = False,
        trace: bool = False,
        progress: Optional[ProgressFunction] = None,
        times_only: bool = False,
    ) -> None:
        super().__init__()
        self._times_only = bool(times_only)
        planning: Dict[str, Any] = {"request": request, "planner": planner, "io": io, "weights": weights}
        planning.update(copy=copy, latency_us=latency_us)
        running = {"weights_file": weights_file, "direct": direct, "debug_checks": debug_checks, "trace": trace}
        self.network = network
        self._borrowed = network._use()
        self._profile_c = profile._use()
        self._threads = threads_of(threads)
        self._texts, self._progress = Texts(), Progress(progress)
        self._options: Any = None  # of planning; None: a schedule was given
        self._ready = 0  # samples of the request that is prepared, where it was planned
        self._folder = self._texts.path(folder if folder is not None else _writable_folder())
        if schedule is not None:
            _refuse({**planning, "total_memory": total_memory}, "is for planning, and a schedule was given")
            self.schedule = schedule
            self._prepare(profile, schedule, memory, running)
        elif memory is not None or total_memory is not None:
            _refuse(running, "needs a schedule; that of an executor is its attribute 'schedule'")
            self._plan(*one_budget(memory, total_memory), planning)
        else:
            raise errors.usage("an executor needs a schedule or memory, a budget to plan for, or total_memory")
        self.request = self.schedule.request

    def _plan(self, memory: int, limit: int, planning: Dict[str, Any]) -> None:
        name = choose_planner(planning["planner"], planning["weights"])
        planner = find_planner(name)
        where = planning["weights"] or ("included" if lib.vbs_planner_transfers(planner) else "excluded")
        options = ffi.new("struct vbs_simple_options *")
        options.struct_size = ffi.sizeof("struct vbs_simple_options")
        request = 12 if planning["request"] is None else planning["request"]
        options.request = integer(request, "request", 1, lib.VBS_MAX_REQUEST)
        options.memory_bytes, options.total_memory_bytes = memory, limit
        options.planner = self._texts(name)
        options.io = io_of(planning["io"] or "external")
        options.weights = weights_of(where)
        options.copy_source = self._texts(planning["copy"], "copy")
        options.latency_us = seconds(planning["latency_us"], "latency_us")
        options.threads, options.folder = self._threads, self._folder
        self._progress.fill(options.progress)
        self._options = options
        with Call(progress=self._progress) as call:
            self.schedule = Schedule._adopt(self._open(call, options.request))
        if limit:
            # What a process has prepared leaves something behind even when it is freed, so that other
            # requests might not keep the limit: they are filled up, as those of a schedule.
            self._options = None

    def _open(self, call: Call, request: int) -> Any:
        """Plans so many samples in the budget and prepares them; gives the plan."""
        plan, out = ffi.new("struct vbs_schedule **"), ffi.new("struct vbs_exec **")
        self._options.request = request
        call(lib.vbs_simple_prepare, self._borrowed, self._profile_c, self._options, plan, out)
        self._c = ffi.gc(out[0], lib.vbs_exec_free)
        self._ready = request
        return plan[0]

    def _ready_for(self, call: Call, request: int) -> None:
        """Prepares so many samples in the place of others: there is one arena at a time."""
        if self._options is None or self._ready == request:
            return
        if self._c is not None:
            ffi.release(self._c)
        self._c, self._ready = None, 0  # closed, if this fails
        lib.vbs_schedule_free(self._open(call, request))

    def _prepare(self, profile: Profile, schedule: Schedule, memory: Optional[Size], running: Dict[str, Any]) -> None:
        backend, info = ffi.new("const struct vbs_backend **"), ffi.new("struct vbs_backend_info *")
        options = ffi.new("struct vbs_exec_options *")
        options.struct_size = ffi.sizeof("struct vbs_exec_options")
        options.memory_bytes = 0 if memory is None else parse_bytes(memory)
        options.folder = self._folder
        options.weights_path = self._texts.path(running["weights_file"])
        options.direct, options.trace = running["direct"], running["trace"]
        options.debug_checks = running["debug_checks"]
        self._progress.fill(options.progress)
        out, c = ffi.new("struct vbs_exec **"), schedule._use()
        with Call(progress=self._progress) as call:
            call(lib.vbs_backend_find, profile.provenance.backend.encode(), backend)
            backend[0].probe(info)
            if not info.usable:
                raise errors.unusable(text_of(backend[0].name), text_of(info.why))
            measured = profile.provenance.threads
            own = measured if measured <= (os.cpu_count() or 1) and not backend[0].device else 0
            options.threads = self._threads or own
            call(lib.vbs_exec_new, self._borrowed, backend[0], self._profile_c, c, options, ffi.NULL, out)
            self._c = ffi.gc(out[0], lib.vbs_exec_free)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        schedule = self.schedule
        arena = "" if schedule.closed else f", {format_bytes(schedule.memory_bytes)}"
        name = "a network" if self.network.closed else self.network.name
        return f"<Executor of {name}: {self.request} samples{arena}{state}>"

    @property
    def placement(self) -> Placement:
        """Where the buffers lie in the arena."""
        with Call(self, progress=self._progress) as call:
            self._ready_for(call, self.request)
            c = lib.vbs_exec_placement(self._c)
            return Placement(*(getattr(c, name) for name in Placement._fields))

    # ---- arrays ----

    def _outputs(self) -> List[Output]:
        c = self._borrowed
        return [
            Output(text_of(o.name), o.layer, tuple(o.shape.dim[0 : o.shape.n_dims]))
            for o in (c.outputs[i] for i in range(c.n_outputs))
        ]

    def _shape(self, sample: Tuple[int, ...], n: int) -> Tuple[int, ...]:
        return batch_shape_of(self._borrowed, sample, n)

    def _input_shape(self, n: int) -> Tuple[int, ...]:
        shape = self._borrowed.input
        return self._shape(tuple(shape.dim[0 : shape.n_dims]), n)

    def _arrays(self, out: Optional[Outputs], n: int) -> Dict[str, np.ndarray]:
        """The arrays to write into: new ones, or those of the caller."""
        wanted = {output.name: self._shape(output.shape, n) for output in self._outputs()}
        if out is None:
            return {name: np.empty(shape, np.float32) for name, shape in wanted.items()}
        given: Dict[str, np.ndarray]
        if isinstance(out, Mapping):
            given = dict(out)
        else:
            given = dict(zip(wanted, [out] if isinstance(out, np.ndarray) else list(out)))
        for name, array in given.items():
            if name not in wanted:
                raise errors.usage(f"the network has no output '{name}'; it has: {', '.join(wanted)}")
            _check(array, wanted[name], f"out '{name}'", writable=True)
        if not given:
            raise errors.usage("out has no array")
        return given

    def _tensor(self, given: Inputs, n: int, what: str) -> np.ndarray:
        """The array of n samples of tensor 0: the caller's, or one of the inputs that a mapping has."""
        self._check_open(n, what)
        inputs, c = inputs_of(self._borrowed), self._borrowed
        if not isinstance(given, Mapping):
            if len(inputs) == 1:
                given = self._floats(0, inputs[0], given, what)
            _check(given, self._input_shape(n), what)
            return given
        unread = [text_of(c.unread_inputs[i]) for i in range(c.n_unread_inputs)]
        for name in given:
            if name in unread:
                warnings.warn(f"no node of the network reads input '{name}'", stacklevel=3)
            elif name not in [i.name for i in inputs]:
                raise errors.usage(f"the network has no input '{name}'; it has: {', '.join(i.name for i in inputs)}")
        for i in inputs:
            if i.name not in given:
                raise errors.usage(f"{what} has no array of input '{i.name}'")
        arrays = [self._input(k, i, given[i.name], n) for k, i in enumerate(inputs)]
        if len(arrays) == 1 and not inputs[0].shared:
            return arrays[0]
        tensor = np.empty(self._input_shape(n), np.float32)
        pointers = ffi.new("const float *[]", [ffi.from_buffer("float[]", array) for array in arrays])
        lib.vbs_network_join_inputs(self._borrowed, n, pointers, ffi.from_buffer("float[]", tensor))
        return tensor

    def _check_open(self, n: int, what: str) -> None:
        """Refuses several samples of a network that would mix them, where nobody chose its size."""
        c = self._borrowed
        if n > 1 and c.whole_open and c.whole_why != ffi.NULL:
            shape = dims_of(c.inputs[0].shape)
            raise errors.usage(
                f"{what} has {n} samples, but the network takes whole inputs of its file: {text_of(c.whole_why)}; "
                f"Network(..., input={(n, *shape[1:])}) takes {n} at once, and input={shape} each as an input of its own"
            )

    def _input(self, k: int, own: Input, array: np.ndarray, n: int) -> np.ndarray:
        """The array of input k, as floats; one of whole numbers may have a type of these."""
        what = f"input '{own.name}'"
        array = self._floats(k, own, array, what)
        _check(array, own.shape if own.shared else self._shape(own.shape, n), what)
        return array

    def _floats(self, k: int, own: Input, array: Any, what: str) -> Any:
        """An array of whole numbers as floats, where input k takes whole numbers; others as they are."""
        if own.number == "real" or not isinstance(array, np.ndarray) or array.dtype.kind not in "iubf":
            return array
        _check_whole(array, self._borrowed.inputs[k], what)
        return array if array.dtype.kind == "f" else np.ascontiguousarray(array, np.float32)

    def run(self, input: Optional[Inputs] = None, out: Optional[Outputs] = None) -> Run:
        """Runs the request once.

        Parameters
        ----------
        input : float32, [request, *network.input_shape], contiguous in C order; it is read where it
            lies. Or a mapping from the names of all inputs (``network.inputs``) to arrays, which are
            joined; inputs of whole numbers may be arrays of integers or bools. None: the values that
            ``vbslab run`` takes where no input is given
        out : where outputs are written: an array for the first, a list of arrays, or a mapping from
            names to arrays, of which those that are missing are not written. None: new arrays
        """
        if input is not None:
            input = self._tensor(input, self.request, "input")
        arrays = self._arrays(out, self.request)
        report = ffi.new("struct vbs_exec_report *")
        with Call(self, progress=self._progress) as call:
            self._ready_for(call, self.request)
            self._run(call, input, arrays, report, self._times_only)
            steps = None
            if report.steps != ffi.NULL and report.n_steps:
                steps = view(report.steps, report.n_steps, "struct vbs_exec_step", self._c).copy()
        return Run(arrays, **{name: getattr(report, name) for name in _fields(Run)}, steps=steps)

    def _run(
        self, call: Call, input: Optional[np.ndarray], arrays: Dict[str, np.ndarray], report: Any, times_only: bool
    ) -> None:
        lib.vbs_exec_set_times_only(self._c, times_only)
        source = ffi.NULL if input is None else ffi.from_buffer("float[]", input)
        targets = [
            ffi.from_buffer("float[]", arrays[output.name], require_writable=True)
            if output.name in arrays
            else ffi.NULL
            for output in self._outputs()
        ]
        call(lib.vbs_exec_run, self._c, source, ffi.new("float *[]", targets), report)

    def _count(self, X: Inputs) -> int:
        """The number of samples in an array, or in those of a mapping."""
        first: Any = X
        if isinstance(X, Mapping):
            own = [i.name for i in inputs_of(self._borrowed) if not i.shared and i.name in X]
            first = X[own[0]] if own else None
        if not isinstance(first, np.ndarray) or first.ndim == 0:
            raise TypeError(f"X is a {type(X).__name__}, not an array of samples or a mapping to such arrays")
        return len(first)

    def predict(self, X: Inputs) -> np.ndarray:
        """The first output for any number of samples, one request after the other.

        Parameters
        ----------
        X : float32, [n, *network.input_shape], contiguous in C order, or a mapping as for ``run``.
            Where n is less than the request, these samples are a request of their own, which is
            planned in the same memory and prepared in the place of the other one, so that calls with
            as many samples again take the time of these. Where n is above the request and no multiple
            of it, or the executor was given a schedule or total_memory, the last request is filled up with zeros,
            whose outputs are dropped
        """
        n, r, first = self._count(X), self.request, self._outputs()[0]
        X = self._tensor(X, n, "X")
        if self._options is not None and 0 < n < r:
            r = n
        made = np.empty(self._shape(first.shape, n), np.float32)
        report = ffi.new("struct vbs_exec_report *")
        with Call(self, progress=self._progress) as call:
            try:
                self._ready_for(call, r)
            except errors.InfeasibleError:  # no placement was found
                r = self.request
                self._ready_for(call, r)
            whole = n - n % r
            for i in range(0, whole, r):
                self._run(call, X[i : i + r], {first.name: made[i : i + r]}, report, True)
            if whole < n:
                rest, padded = (
                    np.zeros(self._input_shape(r), np.float32),
                    np.empty(self._shape(first.shape, r), np.float32),
                )
                rest[: n - whole] = X[whole:]
                self._run(call, rest, {first.name: padded}, report, True)
                made[whole:] = padded[: n - whole]
        return made


def _refuse(options: Dict[str, Any], why: str) -> None:
    for name, value in options.items():
        if value is not None and value is not False:
            raise errors.usage(f"{name} {why}")


def _writable_folder() -> str:
    return "." if os.access(".", os.W_OK) else tempfile.gettempdir()


def _check_whole(array: np.ndarray, own: Any, what: str) -> None:
    """Refuses whole numbers that the input does not have."""
    least, most = own.least, own.most
    if own.is_index:
        least, most = max(least, -own.high - 1), min(most, own.high)
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        raise errors.usage(f"{what} has values that are no whole numbers; it takes those from {least} to {most}")
    if array.size and not (least <= array.min() and array.max() <= most):
        raise errors.usage(f"{what} has values from {array.min()} to {array.max()}; it takes those from {least} to {most}")


def _check(array: Any, shape: Tuple[int, ...], what: str, writable: bool = False) -> None:
    """Refuses an array that would have to be copied, and says which call makes one that fits."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} is a {type(array).__name__}, not a numpy.ndarray")
    if array.dtype != np.float32 or not array.dtype.isnative:
        raise TypeError(f"{what} has dtype {array.dtype}; it has to be float32 (astype makes a copy that is)")
    if array.shape != shape:
        raise errors.usage(f"{what} has shape {array.shape}; it has to be {shape}")
    if not array.flags.c_contiguous:
        raise errors.usage(f"{what} is not contiguous; numpy.ascontiguousarray makes a copy that is")
    if writable and not array.flags.writeable:
        raise errors.usage(f"{what} is read-only")
