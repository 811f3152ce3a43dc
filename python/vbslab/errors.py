"""The exceptions of vbslab: one class for each status of the library.

Every class is a :class:`VbslabError`, and also the exception of Python that says the same, so that
``except ValueError`` or ``except FileNotFoundError`` work as elsewhere. The message is the library's
one line, which says what and why.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Optional, Type, TypeVar

from ._native import ffi, lib

__all__ = [
    "VbslabError",
    "OutOfMemoryError",
    "FileError",
    "MissingFileError",
    "FormatError",
    "StoreError",
    "LibraryError",
    "UnsupportedError",
    "InvalidError",
    "CancelledError",
    "UsageError",
    "NotFoundError",
    "InfeasibleError",
    "OverBudgetError",
    "ClosedError",
]


class VbslabError(Exception):
    """The base of all errors of the library.

    ``status`` is the name of the status ("INFEASIBLE"), ``exit_code`` the code with which the program
    ``vbslab`` ends for it.
    """

    status: str = ""
    exit_code: int = 1


_Error = TypeVar("_Error", bound=VbslabError)


class OutOfMemoryError(VbslabError, MemoryError):
    """There is not enough memory."""


class FileError(VbslabError, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that was to be read does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])  # the library's line, where OSError would write errno and name


class FormatError(VbslabError, ValueError):
    """A file or a text is malformed; the message names the line, the key or the node."""


class StoreError(VbslabError, RuntimeError):
    """The store cannot be used, or lacks what was asked for."""


class LibraryError(VbslabError, RuntimeError):
    """A call of oneDNN, cuDNN or another library failed."""


class UnsupportedError(VbslabError, NotImplementedError):
    """This build or this machine cannot do it, or an ONNX operator is not known."""


class InvalidError(VbslabError, ValueError):
    """A schedule does not belong to the profile, or the profile not to the network."""


class CancelledError(VbslabError):
    """The call was ended by :func:`vbslab.cancel_calls`, or by a handler of SIGINT of the user."""


class UsageError(VbslabError, ValueError):
    """An argument is out of range or malformed."""


class NotFoundError(VbslabError, LookupError):
    """There is no such name; the message suggests the nearest."""


class InfeasibleError(VbslabError, ValueError):
    """No schedule fits.

    ``least_bytes`` is the least budget that works; None where it is not known, or where no budget
    works because of a bound of the latency.
    """

    least_bytes: Optional[int] = None


class OverBudgetError(VbslabError, ValueError):
    """A schedule breaks its budget or its latency."""


class ClosedError(ValueError):
    """The object was closed and can no longer be used."""


_CLASSES = {
    "NO_MEMORY": OutOfMemoryError,
    "IO": FileError,
    "FORMAT": FormatError,
    "STORE": StoreError,
    "LIBRARY": LibraryError,
    "UNSUPPORTED": UnsupportedError,
    "INVALID": InvalidError,
    "INTERRUPTED": CancelledError,
    "USAGE": UsageError,
    "NOT_FOUND": NotFoundError,
    "INFEASIBLE": InfeasibleError,
    "OVER_BUDGET": OverBudgetError,
}


def error_of(status: int, ctx: Any, path: Optional[bytes] = None) -> VbslabError:
    """The exception of a status, with the detail of ctx; path is the file that was to be read."""
    name = ffi.typeof("enum vbs_status").elements[status][len("VBS_") :]
    same = ctx != ffi.NULL and lib.vbs_ctx_status(ctx) == status
    text = ffi.string(lib.vbs_detail(ctx) if same else lib.vbs_status_text(status)).decode()
    made: VbslabError
    if name == "IO" and path is not None and not os.path.exists(path):
        made = MissingFileError(text)
        made.errno, made.filename = errno.ENOENT, os.fsdecode(path)
    else:
        made = _CLASSES[name](text)
    made.status = name
    made.exit_code = lib.vbs_status_exit_code(status)
    return made


def _own(kind: Type[_Error], status: str, text: str) -> _Error:
    """An error that this package finds, like those of the library."""
    made = kind(text)
    made.status, made.exit_code = status, lib.vbs_status_exit_code(getattr(lib, f"VBS_{status}"))
    return made


def usage(text: str) -> UsageError:
    """An error of usage."""
    return _own(UsageError, "USAGE", text)


def unusable(backend: str, why: str) -> UnsupportedError:
    """The error of a backend that this machine or this build does not have."""
    return _own(UnsupportedError, "UNSUPPORTED", f"backend '{backend}' cannot be used here: {why}")
