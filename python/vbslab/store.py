"""Stores: profiles kept in one SQLite file, and measuring into it."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import errors
from ._call import Call, Exclusive, Progress, ProgressFunction
from ._convert import Path, batches_of, frame, html_table, integer, name_of, path_of, seconds, text_of, threads_of
from ._native import ffi, lib
from .network import Network
from .profile import Profile, Provenance, provenance_of

_MODES = {"read": "VBS_STORE_READ", "write": "VBS_STORE_WRITE", "make": "VBS_STORE_MAKE_FOLDER"}


def default_store() -> str:
    """The path of the store of the program ``vbslab``.

    That is $VBSLAB_DB; else db/vbslab.sqlite where there is a folder db; else vbslab/vbslab.sqlite in
    $XDG_DATA_HOME or ~/.local/share.
    """
    path, data, home = (os.environ.get(name, "") for name in ("VBSLAB_DB", "XDG_DATA_HOME", "HOME"))
    if path:
        return path
    if os.path.isdir("db") or not (data.startswith("/") or home):
        return "db/vbslab.sqlite"
    return os.path.join(data if data.startswith("/") else f"{home}/.local/share", "vbslab", "vbslab.sqlite")


class Entry(NamedTuple):
    """A profile in a store."""

    id: int
    complete: bool
    n_layers: int
    n_batches: int
    max_batch: int
    n_rows: int
    batches: str
    hash: str
    tags: Tuple[str, ...]
    provenance: Provenance


class Backend(NamedTuple):
    """A library or a model that runs layers."""

    name: str
    summary: str
    usable: bool
    why: str  #: where it is not usable: why not
    library: str
    device: str
    modelled: bool  #: it computes times and runs nothing


def _probe(backend: Any) -> Any:
    info = ffi.new("struct vbs_backend_info *")
    backend.probe(info)
    return info


def backends() -> List[Backend]:
    """What this build can use on this machine and, where not, why.

    >>> [backend.name for backend in vbslab.backends()]
    ['onednn', 'cudnn', 'analytic']
    """
    made: List[Backend] = []
    while True:
        c = lib.vbs_backend_at(len(made))
        if c == ffi.NULL:
            return made
        info = _probe(c)
        made.append(
            Backend(
                text_of(c.name),
                text_of(c.summary),
                bool(info.built and info.usable),
                text_of(info.why),
                text_of(info.library),
                text_of(info.device),
                bool(c.modelled),
            )
        )


class _Machine:
    """Ranks profiles: of this machine before others, measured before modelled ones."""

    def __init__(self) -> None:
        self.backends = {backend.name: backend for backend in backends()}
        self.handle = ffi.new_handle(self)

    def rank(self, provenance: Any) -> int:
        backend = self.backends.get(text_of(provenance.backend))
        if backend is None:
            return 1
        if backend.modelled:
            return 0
        fits = provenance.threads <= (os.cpu_count() or 1)
        return 2 if backend.usable and backend.device == text_of(provenance.device) and fits else 1


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator,unused-ignore]
def vbspy_rank(handle: Any, provenance: Any) -> int:
    return int(ffi.from_handle(handle).rank(provenance))


class Store(Exclusive):
    """Profiles in one SQLite file, which any number of processes may use at once.

    Parameters
    ----------
    path : the file; the default is that of the program ``vbslab`` (:func:`default_store`)
    mode : "read": the file must exist; "write": it is made when it does not exist; "make": its folder,
        too. The default is "make" for the default store, else "write"

    One thread at a time uses a store; another one that calls it waits.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with vbslab.Store(folder.name + "/store.sqlite") as store:
    ...     profile = store.measure(vbslab.Network("lenet-5"), backend="analytic", batches="1-4")
    ...     store.tag(profile.id, "first")
    ...     store.load("first") == store.load(profile.id) == store.load("lenet-5")
    True
    """

    _kind = "store"

    def __init__(self, path: Optional[Path] = None, *, mode: Optional[str] = None) -> None:
        super().__init__()
        if mode is None:
            mode = "make" if path is None else "write"
        if mode not in _MODES:
            raise errors.usage(f"mode is {mode!r}; there are: {', '.join(_MODES)}")
        name = path_of(default_store() if path is None else path)
        self.path = os.fsdecode(name)
        # Profiles name their store, also after the current folder has changed.
        self._absolute = path_of(os.path.abspath(self.path))
        out = ffi.new("struct vbs_store **")
        with Call() as call:
            try:
                call(lib.vbs_store_open, name, getattr(lib, _MODES[mode]), out)
            except errors.StoreError as error:
                if mode != "read" or os.path.exists(name):
                    raise
                raise _missing(error, self.path) from None
            self._c = ffi.gc(out[0], lib.vbs_store_close)

    def __repr__(self) -> str:
        return f"<Store {self.path}{', closed' if self.closed else ''}>"

    def entries(self) -> List[Entry]:
        """All profiles, the newest last; unfinished ones are at the end."""
        out, made = ffi.new("struct vbs_store_list **"), []
        with Call(self) as call:
            call(lib.vbs_store_profiles, self._c, out)
            listed = ffi.gc(out[0], lib.vbs_store_list_free)
        for i in range(listed.n_entries):
            e = listed.entries[i]
            tags = text_of(e.tags)
            made.append(
                Entry(
                    e.id,
                    e.complete,
                    e.n_layers,
                    e.n_batches,
                    e.max_batch,
                    e.n_rows,
                    text_of(e.batches),
                    text_of(e.hash),
                    tuple(tags.split(",")) if tags else (),
                    provenance_of(e.provenance),
                )
            )
        return made

    def to_dataframe(self) -> Any:
        """The profiles as a DataFrame, a row for each."""
        entries = self.entries()
        names = [name for name in Entry._fields if name != "provenance"]
        columns = {name: [getattr(entry, name) for entry in entries] for name in names}
        columns.update({name: [getattr(entry.provenance, name) for entry in entries] for name in Provenance._fields})
        return frame(columns, {"store": self.path})

    def _repr_html_(self) -> str:
        rows = [
            (e.id, e.provenance.model, e.provenance.backend, e.batches, e.n_rows, e.provenance.date)
            for e in self.entries()
        ]
        return html_table(repr(self)[1:-1], ("id", "model", "backend", "batches", "rows", "date"), rows)

    def load(self, profile: Union[int, Path]) -> Profile:
        """Loads a profile by its id or tag, or the newest one of a model, named or by its file.

        Of the profiles of a model, one of this machine comes before others, and a measured one before
        a modelled one.
        """
        with Call(self) as call:
            number = profile if isinstance(profile, int) else self._find(call, profile)
            out = ffi.new("struct vbs_profile **")
            call(lib.vbs_store_load, self._c, integer(number, "an id", 1, 2**63 - 1), out)
            return Profile._adopt(out[0], (self._absolute, int(number)))

    def _find(self, call: Call, word: Path) -> int:
        name = path_of(word)
        if name.isdigit():
            return int(name)
        preference, keep, machine = ffi.new("struct vbs_store_preference *"), [], _Machine()
        preference.self, preference.rank = machine.handle, lib.vbspy_rank
        if name.endswith((b".net", b".onnx", b".vbz")):
            with Network(word) as network:
                name = network.name.encode()
                keep.append(ffi.new("char[]", "x".join(map(str, network.input_shape)).encode()))
                preference.input, preference.network_hash = keep[0], network.hash
        choice, number = ffi.new("struct vbs_store_choice *"), ffi.new("int64_t *")
        try:
            call(lib.vbs_store_choose, self._c, name, preference, choice)
            return int(choice.id)
        except errors.NotFoundError as error:
            try:
                call(lib.vbs_store_find_tag, self._c, name, number)
                return int(number[0])
            except errors.NotFoundError:
                raise error from None

    def save(self, profile: Profile) -> int:
        """Keeps a profile, and gives its id; that of the same content, where the store has it."""
        c, out = profile._use(), ffi.new("int64_t *")
        with Call(self) as call:
            call(lib.vbs_store_save, self._c, c, out)
        return int(out[0])

    def delete(self, *ids: int) -> None:
        """Deletes profiles with all their data; all or, on an error, none."""
        numbers = ffi.new("int64_t[]", [integer(number, "an id", 1, 2**63 - 1) for number in ids])
        with Call(self) as call:
            call(lib.vbs_store_delete, self._c, numbers, len(ids))

    def tag(self, id: int, tag: str) -> None:
        """Gives a profile a name that it alone has."""
        with Call(self) as call:
            call(lib.vbs_store_tag, self._c, integer(id, "an id", 1, 2**63 - 1), name_of(tag, "tag"))

    def untag(self, tag: str) -> None:
        """Removes a tag."""
        with Call(self) as call:
            call(lib.vbs_store_untag, self._c, name_of(tag, "tag"))

    def merge(self, path: Path, *, progress: Optional[ProgressFunction] = None) -> List[str]:
        """Copies the profiles of another store into this one; gives what people should know of it."""
        reporter = Progress(progress)
        options, out = ffi.new("struct vbs_merge_options *"), ffi.new("struct vbs_merge_report **")
        options.struct_size = ffi.sizeof("struct vbs_merge_options")
        reporter.fill(options.progress)
        with Call(self, progress=reporter) as call:
            call(lib.vbs_store_merge, self._c, path_of(path), options, out)
            report = ffi.gc(out[0], lib.vbs_merge_report_free)
        return [text_of(report.notes[i].text) for i in range(report.n_notes)]

    def measure(
        self,
        network: Network,
        *,
        backend: str = "onednn",
        batches: Union[str, Iterable[int]] = "1-12",
        threads: int = 0,
        time_limit_s: Optional[float] = None,
        copies: bool = True,
        stripes: bool = False,
        seed: int = 1,
        progress: Optional[ProgressFunction] = None,
    ) -> Profile:
        """Measures a network into the store, and gives the profile; options as :meth:`Network.measure`.

        Every sample is kept at once. A measurement that was broken off, by Ctrl-C or by the end of the
        process, is continued by the next one of the same network and options.
        """
        reporter, own, found = Progress(progress), batches_of(batches), ffi.new("const struct vbs_backend **")
        prepare = ffi.new("struct vbs_backend_options *")
        prepare.struct_size = ffi.sizeof("struct vbs_backend_options")
        prepare.batches, prepare.n_batches = own, len(own)
        prepare.threads = threads_of(threads)
        prepare.stripes = bool(stripes)
        limit = seconds(time_limit_s, "time_limit_s")
        shares = ffi.new("struct vbs_measure_shares *")
        lib.vbs_measure_divide(limit, 0, False, shares)
        prepare.time_limit_s = shares.prepared_s
        seed = integer(seed, "seed", 0, 2**63 - 1)
        net, out = network._use(), ffi.new("struct vbs_session **")
        with Call(self, progress=reporter) as call:
            call(lib.vbs_backend_find, name_of(backend, "backend"), found)
            info = _probe(found[0])
            if not (info.built and info.usable):
                raise errors.unusable(backend, text_of(info.why))
            call(found[0].open, net, prepare, out)
            session = out[0]
            try:
                number = self._measure(call, net, session, (limit, shares), copies, seed, reporter)
            finally:
                session.ops.close(session)
            loaded = ffi.new("struct vbs_profile **")
            call(lib.vbs_store_load, self._c, number, loaded)
            return Profile._adopt(loaded[0], (self._absolute, number))

    def _measure(
        self, call: Call, net: Any, session: Any, limits: Tuple[float, Any], copies: bool, seed: int, reporter: Progress
    ) -> int:
        limit, shares = limits
        options, report = ffi.new("struct vbs_measure_options *"), ffi.new("struct vbs_measure_report *")
        options.struct_size = ffi.sizeof("struct vbs_measure_options")
        options.time_limit_s, options.seed, options.save_runs = limit, seed, True
        reporter.fill(options.progress)
        out, number = ffi.new("struct vbs_store_run **"), ffi.new("int64_t *")
        version = ffi.new("char[]", ffi.string(lib.vbs_version()))
        if session.provenance.vbslab == ffi.NULL or not text_of(session.provenance.vbslab):
            session.provenance.vbslab = version
        call(lib.vbs_store_run_begin, self._c, lib.vbs_network_hash(net), session, out)
        run = out[0]
        try:
            sink = lib.vbs_store_run_sink(run)
            if copies:
                self._measure_copies(call, session, sink, options, shares, reporter)
            options.most_s = lib.vbs_measure_left_s(shares, shares.timed_s)
            call(lib.vbs_measure, session, options, sink, report)
            revised = _revise(call, session, run)
            call(lib.vbs_store_run_finish, run, ffi.NULL, number)
            del revised
        finally:
            lib.vbs_store_run_free(run)
        return int(number[0])

    def _measure_copies(
        self, call: Call, session: Any, sink: Any, measure: Any, shares: Any, reporter: Progress
    ) -> None:
        options, report = ffi.new("struct vbs_copy_options *"), ffi.new("struct vbs_copy_report *")
        options.struct_size = ffi.sizeof("struct vbs_copy_options")
        folder = ffi.new("char[]", os.path.dirname(self._absolute) or b".")
        options.folder, options.time_limit_s = folder, lib.vbs_measure_part_s(shares, shares.limit_s)
        reporter.fill(options.progress)
        call(lib.vbs_measure_copies, session, options, sink, report)
        if measure.time_limit_s > 0:
            measure.time_limit_s = max(1e-3, measure.time_limit_s - report.total_s)


def _revise(call: Call, session: Any, run: Any) -> Any:
    """Has a run finish with posterior times, which live as long as what is returned."""
    if session.modelled:
        return None
    draft, made = ffi.new("struct vbs_profile **"), ffi.new("struct vbs_profile **")
    options = ffi.new("struct vbs_posterior_options *")
    options.struct_size = ffi.sizeof("struct vbs_posterior_options")
    call(lib.vbs_store_run_draft, run, draft)
    try:
        call(lib.vbs_profile_posterior, draft[0], options, ffi.NULL, made)
    finally:
        lib.vbs_profile_free(draft[0])
    lib.vbs_store_run_revise(run, made[0])
    return ffi.gc(made[0], lib.vbs_profile_free)


def _missing(error: errors.VbslabError, path: str) -> errors.MissingFileError:
    import errno

    made = errors.MissingFileError(str(error))
    made.status, made.exit_code = error.status, error.exit_code
    made.errno, made.filename = errno.ENOENT, path
    return made
