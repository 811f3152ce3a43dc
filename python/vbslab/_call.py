"""How the library is called: contexts, Ctrl-C, progress, locks, and who frees what."""

from __future__ import annotations

import signal
import threading
from typing import Any, Callable, Dict, List, Optional, TypeVar

from . import errors
from ._native import ffi, lib

ProgressFunction = Callable[[float, Optional[float], str], Any]

_running: Dict[int, Any] = {}  # the flags of the threads in which a call is under way


class _Thread(threading.local):
    """What each thread has of its own: the library wants a context for each."""

    def __init__(self) -> None:
        self.depth = 0  # calls under way: more than one where a progress function calls the library
        self.flag = ffi.new("sig_atomic_t[1]")
        made = lib.vbs_ctx_new()
        if made == ffi.NULL:
            raise MemoryError("out of memory")
        self.ctx = ffi.gc(made, lib.vbs_ctx_free)
        lib.vbs_ctx_set_cancel(self.ctx, self.flag)


_thread = _Thread()


def cancel_calls() -> None:
    """Asks the calls that are under way in all threads to end; they raise :class:`CancelledError`.

    Ctrl-C ends a call of the main thread by itself. This function ends those of other threads, for
    example after a KeyboardInterrupt that came while the main thread waited for them.
    """
    for flag in list(_running.values()):
        flag[0] = 1


def leftover() -> Optional[str]:
    """One line that names unfinished files which killed processes left (FILE.PID-NUMBER.part), or None.

    They lie beside files that calls of this thread wrote. The line says that they can be removed; what
    a process still writes is not named, and nothing is removed.
    """
    text = lib.vbs_leftover(_thread.ctx)
    return None if text == ffi.NULL else ffi.string(text).decode(errors="replace")


class Progress:
    """A progress function of the user, for as long as the library may call it."""

    def __init__(self, function: Optional[ProgressFunction]) -> None:
        if function is not None and not callable(function):
            raise TypeError(f"progress is a {type(function).__name__}, not a function")
        self.function = function
        self.error: Optional[BaseException] = None
        self._handle = ffi.new_handle(self)

    def fill(self, progress: Any) -> None:
        """Sets a struct vbs_progress, which borrows this object."""
        if self.function is not None:
            progress.self = self._handle
            progress.report = lib.vbspy_progress


@ffi.def_extern()  # type: ignore[untyped-decorator,unused-ignore]
def vbspy_progress(handle: Any, done: float, left_s: float, text: Any) -> None:
    progress = ffi.from_handle(handle)
    if progress.error is not None:
        return
    try:
        progress.function(done, left_s if left_s >= 0 else None, ffi.string(text).decode(errors="replace"))
    except BaseException as error:  # whatever it is, the call ends and raises it
        progress.error = error
        _thread.flag[0] = 1


class Call:
    """One or more calls of the library, within a `with` statement.

    Calling the object adds the context and raises what a status says. Results are to be taken over
    within the statement. At its end Ctrl-C is raised, if it came, and what a progress function
    raised.
    """

    def __init__(self, *objects: "Exclusive", progress: Optional[Progress] = None) -> None:
        self._objects = objects
        self._progress = progress
        self._taken: List[Exclusive] = []
        self._watches = False

    def __enter__(self) -> "Call":
        thread = _thread
        # The watch comes first and ends last: between, no KeyboardInterrupt can break the order.
        if thread.depth == 0:
            thread.flag[0] = 0
            if threading.current_thread() is threading.main_thread():
                lib.vbspy_watch(thread.flag)
                self._watches = True
            _running[threading.get_ident()] = thread.flag
        thread.depth += 1
        try:
            for item in self._objects:
                item._take(thread.flag)
                self._taken.append(item)
        except BaseException:
            self._leave()
            raise
        return self

    def __call__(self, function: Any, *arguments: Any, path: Optional[bytes] = None) -> None:
        ctx = _thread.ctx
        status = function(ctx, *arguments)
        if status != lib.VBS_OK:
            raise errors.error_of(status, ctx, path)

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self._leave()

    def _leave(self) -> None:
        for item in self._taken:
            item._give()
        raised = None
        if self._progress is not None:
            raised, self._progress.error = self._progress.error, None
        _thread.depth -= 1
        if _thread.depth == 0:
            _running.pop(threading.get_ident(), None)
        came = self._watches and lib.vbspy_unwatch()
        if raised is not None:
            raise raised from None
        if came:
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException as interrupt:
                raise interrupt from None


_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """An object of the library, which this one owns.

    It is freed when it is closed, by ``close()`` or a ``with`` statement, or when nobody refers to it
    any more; and not before the last object or array that borrows from it is gone.
    """

    _kind = "object"
    _c: Any = None

    def _use(self) -> Any:
        """The pointer. Who keeps it also keeps the object of the library alive."""
        c = self._c
        if c is None:
            raise errors.ClosedError(f"the {self._kind} is closed")
        return c

    def close(self) -> None:
        """Frees the object, which then can no longer be used. Closing twice does nothing."""
        self._c = None

    @property
    def closed(self) -> bool:
        """Whether the object was closed."""
        return self._c is None

    def __enter__(self: _Self) -> _Self:
        self._use()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self._c = None  # before the objects from which it borrows


class Exclusive(Handle):
    """An object that one thread at a time can use: calls of another one wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: Optional[int] = None

    def _take(self, flag: Any = (0,)) -> None:
        """Waits until no other thread uses the object, or until the flag is set."""
        if self._holder == threading.get_ident():
            raise RuntimeError(f"the {self._kind} is in use by the call that this function was called from")
        while not self._lock.acquire(timeout=0.1):
            if flag[0]:
                raise errors.CancelledError(f"cancelled while another thread used the {self._kind}")
        self._holder = threading.get_ident()
        if self._c is None:
            self._give()
            raise errors.ClosedError(f"the {self._kind} is closed")

    def _give(self) -> None:
        self._holder = None
        self._lock.release()

    def close(self) -> None:
        """Frees the object, after the call that is under way in another thread."""
        if self._c is None:
            return
        try:
            self._take()
        except errors.ClosedError:
            return
        self._c = None
        self._give()
