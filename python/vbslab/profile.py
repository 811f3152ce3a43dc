"""Profiles: the time and memory of each layer at each batch with each algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._call import Call, Handle
from ._convert import Path, Size, SizeRange, frame, html_table, integer, name_of, path_of, take_text, text_of, view
from ._native import ffi, lib
from .network import SHOWN_ROWS

if TYPE_CHECKING:
    from .compare import Comparison
    from .plan import Frontier, ProcessMemory, Schedule, Solver
    from .replay import Replay
    from .store import Store


class Reach(NamedTuple):
    """The rows of an input that row y of a layer's output reads: floor((step y + low) / unit) to
    floor((step y + high) / unit); unit 0: all rows, with step 1 one after the other."""

    step: int
    unit: int
    low: int
    high: int


class ProfileLayer(NamedTuple):
    """A layer in a profile."""

    layer: int
    name: str
    kind: str
    inputs: Tuple[int, ...]  #: the layers that it reads; 0 is the network's input
    in_bytes: int  #: per sample, all inputs together
    out_bytes: int  #: per sample
    weight_bytes: int
    in_place: bool  #: the output takes the place of the first input's samples
    rows: int  #: of the output, or of an input that is accumulated; 0: it is computed and read whole
    reaches: Optional[Tuple[Reach, ...]]  #: of each input; None: the layer is never computed by rows


def _reaches(c: Any) -> Optional[Tuple[Reach, ...]]:
    """Those of a struct vbs_profile_layer."""
    if c.reaches == ffi.NULL:
        return None
    reaches = (c.reaches[i] for i in range(c.n_inputs))
    return tuple(Reach(one.step, one.unit, one.low, one.high) for one in reaches)


def _reach_text(layer: ProfileLayer) -> str:
    """The reaches as the CSV has them."""
    texts = (
        f"{r.step}/{r.unit}:{r.low}:{r.high}" if r.unit or r.step else "all"
        for r in layer.reaches or ()
    )
    return ";".join(texts)


class Provenance(NamedTuple):
    """Where the times of a profile come from; a text that is not known is empty."""

    model: str
    input: str
    backend: str
    library: str
    device: str
    vbslab: str
    date: str
    notes: str
    threads: int  #: 0: not known
    times: str = ""  #: begins with "posterior" where the times of rows are posterior ones
    layout: str = ""  #: "rows" where the tensors lie as kernels on rows need them


def provenance_of(c: Any) -> Provenance:
    """That of a struct vbs_provenance."""
    texts = {name: text_of(getattr(c, name)) for name in Provenance._fields if name != "threads"}
    return Provenance(threads=c.threads, **texts)


class Copy(NamedTuple):
    """How fast weights can be copied from a source into the budget: latency_us + bytes / bytes_per_us.

    beside: how many times as long a copy takes while a layer computes, and then each layer while weights
    are copied; None where this was not measured.
    """

    source: str
    latency_us: float
    bytes_per_us: float
    beside: Optional[Tuple[float, ...]] = None


class Speed(NamedTuple):
    """How fast the machine was when a profile was measured, by fixed loops on all threads."""

    flops_per_us: float
    cache_bytes_per_us: float
    memory_bytes_per_us: float


class Profile(Handle):
    """The rows of all layers of a network on one device; what planners plan from.

    Parameters
    ----------
    source : the path of a .csv file, the id or the tag of a profile in a store, or the name of a model
        or its file: its newest profile in the store, of this machine before others
    store : a :class:`Store` or its path; the default is that of the program ``vbslab``

    Profiles are immutable; threads may share them.

    >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
    >>> plan = profile.plan(memory="1MiB", request=8)
    >>> plan.fits
    True
    """

    _kind = "profile"

    def __init__(self, source: Union[Path, int], *, store: Union["Store", Path, None] = None) -> None:
        from .store import Store

        self._origin: Optional[Tuple[bytes, int]] = None  # store and id
        self._hash: Optional[str] = None
        if not isinstance(source, int) and path_of(source).endswith(b".csv"):
            path, out = path_of(source), ffi.new("struct vbs_profile **")
            with Call() as call:
                call(lib.vbs_profile_read_csv, path, out, path=path)
                self._c = ffi.gc(out[0], lib.vbs_profile_free)
            return
        if isinstance(store, Store):
            self._take_over(store.load(source))
        else:
            with Store(store, mode="read") as opened:
                self._take_over(opened.load(source))

    @classmethod
    def _adopt(cls, c: Any, origin: Optional[Tuple[bytes, int]] = None) -> "Profile":
        made = cls.__new__(cls)
        made._c, made._origin, made._hash = ffi.gc(c, lib.vbs_profile_free), origin, None
        return made

    def _take_over(self, other: "Profile") -> None:
        self._c, self._origin, self._hash = other._c, other._origin, other._hash

    @classmethod
    def from_csv(cls, text: str, *, source: str = "text") -> "Profile":
        """A profile from a text of CSV (docs/formats.md), such as that of :meth:`to_csv`.

        >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-2")
        >>> vbslab.Profile.from_csv(profile.to_csv()).hash == profile.hash
        True
        """
        data, out = text.encode(), ffi.new("struct vbs_profile **")
        with Call() as call:
            call(lib.vbs_profile_parse_csv, name_of(source, "source"), data, len(data), out)
            return cls._adopt(out[0])

    def to_csv(self, path: Optional[Path] = None) -> Optional[str]:
        """Writes the profile as CSV to a path; without a path, gives the text."""
        c = self._use()
        with Call() as call:
            if path is not None:
                call(lib.vbs_profile_write_csv, c, path_of(path))
                return None
            out = ffi.new("char **")
            call(lib.vbs_profile_csv, c, out)
            return take_text(out[0])

    def __reduce__(self) -> Tuple[Any, ...]:
        return _unpickle, (self.to_csv(), self._origin)

    def __eq__(self, other: object) -> bool:
        """Profiles are equal where their content is, to the bit."""
        return self.hash == other.hash if isinstance(other, Profile) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        if self.closed:
            return "<Profile, closed>"
        about, batches = self.provenance, self.batches
        where = ", ".join(text for text in (about.backend, about.device if not self.modelled else "") if text)
        threads = f", {about.threads} threads" if about.threads else ""
        return (
            f"<Profile {about.model or 'of an unknown model'}: {self.n_layers} layers, "
            f"batches {batches[0]} to {batches[-1]}{', ' if where else ''}{where}{threads}>"
        )

    @property
    def id(self) -> Optional[int]:
        """The id in the store from which it was loaded; None: it comes from elsewhere."""
        return self._origin[1] if self._origin else None

    @property
    def model(self) -> str:
        """The name of the network; "" where it is not known."""
        return text_of(self._use().provenance.model)

    @property
    def n_layers(self) -> int:
        """The number of layers."""
        return int(self._use().n_layers)

    @property
    def batches(self) -> Tuple[int, ...]:
        """The batches that were measured, ascending."""
        c = self._use()
        return tuple(c.batches[0 : c.n_batches])

    @property
    def algorithms(self) -> Tuple[str, ...]:
        """The names of the algorithms."""
        c = self._use()
        return tuple(text_of(c.algorithms[i]) for i in range(c.n_algorithms))

    @property
    def layers(self) -> Tuple[ProfileLayer, ...]:
        """The layers in topological order; ``layers[0]`` is layer 1."""
        c, made = self._use(), []
        for k in range(1, c.n_layers + 1):
            layer = c.layers[k]
            made.append(
                ProfileLayer(
                    k,
                    text_of(layer.name),
                    text_of(layer.kind),
                    tuple(layer.inputs[0 : layer.n_inputs]),
                    layer.in_bytes,
                    layer.out_bytes,
                    layer.weight_bytes,
                    layer.in_place,
                    layer.rows,
                    _reaches(layer),
                )
            )
        return tuple(made)

    @property
    def copies(self) -> Tuple[Copy, ...]:
        """The sources of copies that were measured; the first is the default."""
        c = self._use()
        links = (c.copies[i].link for i in range(c.n_copies))
        n = c.n_layers + 1
        return tuple(
            Copy(
                text_of(link.source),
                link.latency_us,
                link.bytes_per_us,
                tuple(link.beside[0:n]) if link.beside != ffi.NULL else None,
            )
            for link in links
        )

    @property
    def speed(self) -> Optional[Speed]:
        """How fast the machine was; None where this is not known, as of modelled profiles.

        >>> vbslab.Network("lenet-5").measure(backend="analytic", batches="1-2").speed is None
        True
        """
        made = self._use().speed
        if made.flops_per_us == 0:
            return None
        return Speed(made.flops_per_us, made.cache_bytes_per_us, made.memory_bytes_per_us)

    @property
    def provenance(self) -> Provenance:
        """Where the times come from."""
        return provenance_of(self._use().provenance)

    @property
    def modelled(self) -> bool:
        """Whether the times come from a formula, not from a clock."""
        c = self._use()
        return bool(lib.vbs_provenance_modelled(ffi.addressof(c, "provenance")))

    @property
    def hash(self) -> str:
        """The content hash: 32 hexadecimal digits, equal where the CSV is equal."""
        if self._hash is None:
            text = ffi.new("char[]", lib.VBS_PROFILE_HASH_SIZE)
            lib.vbs_profile_hash(self._use(), text)
            self._hash = text_of(text)
        return self._hash

    @property
    def weight_bytes(self) -> int:
        """The bytes of the weights of all layers."""
        return int(lib.vbs_profile_weight_bytes(self._use()))

    # ---- rows ----

    def _counts(self) -> np.ndarray:
        """The number of rows of each layer at each batch: [n_layers, n_batches]."""
        c, n = self._use(), ffi.new("int *")
        made = np.empty((c.n_layers, c.n_batches), np.int64)
        for k in range(c.n_layers):
            for b in range(c.n_batches):
                lib.vbs_profile_rows(c, k + 1, b, n)
                made[k, b] = n[0]
        return made

    @property
    def rows(self) -> np.ndarray:
        """All rows of whole samples, as a read-only array of struct vbs_profile_row, without a copy.

        They ascend by layer, then by batch, then by algorithm.

        >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-2")
        >>> profile.rows["time_us"].shape
        (18,)
        """
        c, n = self._use(), ffi.new("int *")
        first = lib.vbs_profile_rows(c, 1, 0, n)
        return view(first, int(self._counts().sum()), "struct vbs_profile_row", c)

    def _stripe_counts(self) -> np.ndarray:
        """The number of rows of stripes of each layer."""
        c, n = self._use(), ffi.new("int *")
        made = np.empty(c.n_layers, np.int64)
        for k in range(c.n_layers):
            lib.vbs_profile_stripes(c, k + 1, n)
            made[k] = n[0]
        return made

    @property
    def stripes(self) -> np.ndarray:
        """All rows of stripes, as a read-only array of struct vbs_profile_stripe, without a copy.

        They ascend by layer, then by batch, then by the number of rows, then by algorithm.

        >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", stripes=True)
        >>> int(profile.stripes["row"]["rows"].max())
        16
        """
        c, n = self._use(), ffi.new("int *")
        first = lib.vbs_profile_stripes(c, 1, n)
        return view(first, int(self._stripe_counts().sum()), "struct vbs_profile_stripe", c)

    def to_dataframe(self) -> Any:
        """The rows as a DataFrame, with the columns of the CSV; ``attrs`` has the provenance.

        Rows of stripes, if there are any, follow those of whole samples.
        """
        counts, layers, stripes = self._counts(), self.layers, self.stripes
        numbers = np.arange(len(layers))
        layer = np.concatenate([np.repeat(numbers, counts.sum(axis=1)), np.repeat(numbers, self._stripe_counts())])
        batch = np.repeat(np.tile(np.array(self.batches), len(layers)), counts.ravel())
        batch = np.concatenate([batch, stripes["batch"]])
        rows = np.concatenate([self.rows, stripes["row"]])
        algorithms = np.array(self.algorithms, object)

        def of_layer(name: str) -> np.ndarray:
            values = np.empty(len(layers), object)
            values[:] = [getattr(one, name) for one in layers]
            return values[layer]

        columns: Dict[str, Any] = {
            "layer": layer + 1,
            "name": of_layer("name"),
            "kind": of_layer("kind"),
            "inputs": [";".join(map(str, one)) for one in of_layer("inputs")],
            "batch": batch,
            "algorithm": algorithms[rows["algorithm"]],
            "time_us": rows["time_us"],
            "in_bytes": of_layer("in_bytes").astype(np.int64) * batch,
            "out_bytes": of_layer("out_bytes").astype(np.int64) * batch,
            "ws_bytes": rows["ws_bytes"],
            "weight_bytes": of_layer("weight_bytes").astype(np.int64),
            "in_place": of_layer("in_place").astype(np.int64),
            "mad_us": rows["mad_us"],
            "low_us": rows["low_us"],
            "high_us": rows["high_us"],
            "n_runs": rows["n_runs"],
            "packed_bytes": rows["weight_bytes"],
            "form": rows["format"],
            "parts": rows["n_slices"],
            "out_rows": of_layer("rows").astype(np.int64),
            "reach": [_reach_text(layers[k]) for k in layer],
            "rows": rows["rows"],
        }
        return frame(columns, {**self.provenance._asdict(), "hash": self.hash})

    def _repr_html_(self) -> str:
        layers, first = self.layers, self.rows
        counts = self._counts()
        begins = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
        rows = []
        for k in layers[:SHOWN_ROWS]:
            at = begins[k.layer - 1]
            best = first["time_us"][at : at + counts[k.layer - 1, 0]].min()
            rows.append((k.layer, k.name, k.kind, f"{best:.6g}", k.out_bytes, k.weight_bytes))
        head = ("layer", "name", "kind", "least us at batch 1", "bytes of a sample", "weight bytes")
        return html_table(repr(self)[1:-1], head, rows, len(layers) - len(rows))

    # ---- what is done with it ----

    def solver(self, planner: Optional[str] = None, **options: Any) -> "Solver":
        """A :class:`Solver`: a planner at work on this profile, for any number of budgets."""
        from .plan import Solver

        return Solver(self, planner, **options)

    def plan(
        self,
        memory: Optional[Size] = None,
        planner: Optional[str] = None,
        *,
        total_memory: Optional[Size] = None,
        **options: Any,
    ) -> "Schedule":
        """Plans a request for one budget, and gives the :class:`Schedule`.

        Parameters
        ----------
        memory : the budget, as "20MiB" or in bytes
        total_memory : in place of memory, the limit of the whole process, as in :meth:`Solver.plan`
        planner, options : see :class:`Solver`

        >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
        >>> profile.plan(memory="100KiB", request=8).planner
        'dp-vbs+'
        >>> profile.plan(memory=100)
        Traceback (most recent call last):
        vbslab.errors.InfeasibleError: no schedule of dp-vbs+ fits 100 B; the least budget is ...
        """
        from .plan import one_budget

        one_budget(memory, total_memory)  # before a solver is made
        with self.solver(planner, most_memory=memory, **options) as solver:
            return solver.plan(memory, total_memory=total_memory)

    def process_memory(self, schedule: "Schedule", *, threads: int = 0, process_bytes: int = 0) -> "ProcessMemory":
        """Estimates the memory of a process that runs a schedule on the host, without a run.

        Parameters
        ----------
        schedule : a :class:`Schedule` of this profile
        threads : threads that compute; 0: as many as the profile was measured with
        process_bytes : what the process takes before it plans; 0: what this one takes now

        >>> profile = vbslab.Network("lenet-5").measure(backend="analytic", batches="1-4")
        >>> parts = profile.process_memory(profile.plan("100KiB", request=8), process_bytes=2**25)
        >>> parts.process_bytes < parts.total_bytes < 2**26
        True
        """
        from .plan import ProcessMemory, memory_options

        options = memory_options(
            integer(threads, "threads", 0, 4096), integer(process_bytes, "process_bytes", 0, lib.VBS_MAX_BYTES)
        )
        c, out = schedule._use(), ffi.new("struct vbs_exec_memory *")
        with Call() as call:
            call(lib.vbs_exec_memory, self._use(), c, options, out)
        return ProcessMemory(*(getattr(out, name) for name in ProcessMemory._fields))

    def frontier(self, planner: Optional[str] = None, **options: Any) -> "Frontier":
        """The exact curve of time against memory, a :class:`Frontier`. Options: see :class:`Solver`."""
        with self.solver(planner, **options) as solver:
            return solver.frontier()

    def replay(self, schedule: "Schedule", **options: Any) -> "Replay":
        """Judges a schedule by this profile: a :class:`Replay`, which has the options, too."""
        from .replay import Replay

        return Replay(self, schedule, **options)

    def compare(
        self, memory: Optional[SizeRange] = None, planners: Optional[Sequence[str]] = None, **options: Any
    ) -> "Comparison":
        """Compares planners over budgets: a :class:`Comparison`, which has the options, too."""
        from .compare import Comparison

        return Comparison(self, memory, planners, **options)

    def bound_us(self, memory: Size, **options: Any) -> float:
        """A lower bound of the time of every schedule in the budget, in microseconds; inf where none fits.

        Options are those of :class:`Solver` that describe the problem.
        """
        from .plan import problem_of
        from ._convert import parse_bytes

        problem, _keep = problem_of(self, None, **options)
        out = ffi.new("double *")
        with Call() as call:
            call(lib.vbs_bound_us, problem, parse_bytes(memory), out)
        return float(out[0])


def _unpickle(text: str, origin: Optional[Tuple[bytes, int]]) -> Profile:
    made = Profile.from_csv(text)
    made._origin = origin
    return made
