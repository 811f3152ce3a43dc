"""Values of Python as the library takes them, and back."""

from __future__ import annotations

import operator
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import errors
from ._call import Call
from ._native import ffi, lib
from ._waiting import usable_processors

Size = Union[int, str]
SizeRange = Union[int, str, range]
Path = Union[str, "os.PathLike[str]"]
Shape = Union[str, Sequence[int]]


def text_of(c: Any) -> str:
    """A text of the library; "" for null."""
    return "" if c == ffi.NULL else ffi.string(c).decode(errors="surrogateescape")


def take_text(c: Any) -> str:
    """A text that the library gave away, which is freed."""
    try:
        return text_of(c)
    finally:
        lib.free(c)


def path_of(path: Path) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise errors.usage("a path has a zero byte")
    return name


def name_of(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a {type(text).__name__}, not a str")
    if "\0" in text:
        raise errors.usage(f"{what} has a zero byte")
    return text.encode()


class Texts:
    """Texts that options of a call point to, which live as long as this object."""

    def __init__(self) -> None:
        self._kept: List[Any] = []

    def _keep(self, data: bytes) -> Any:
        self._kept.append(ffi.new("char[]", data))
        return self._kept[-1]

    def __call__(self, text: Optional[str], what: str = "a name") -> Any:
        return ffi.NULL if text is None else self._keep(name_of(text, what))

    def path(self, path: Optional[Path]) -> Any:
        return ffi.NULL if path is None else self._keep(path_of(path))


def integer(value: Any, what: str, least: int, most: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a {type(value).__name__}, not a whole number") from None
    if not least <= number <= most:
        raise errors.usage(f"{what} is {number}; {least} to {most} are possible")
    return number


def threads_of(value: Any) -> int:
    """A number of threads that compute; 0 stands for the default."""
    number, most = integer(value, "threads", 0, 4096), usable_processors()
    if number > most:
        plural = "s" if most > 1 else ""
        raise errors.usage(f"{number} threads are more than the {most} processor{plural} that this process may use")
    return number


def seconds(value: Optional[float], what: str) -> float:
    """A time above 0; None stands for the default, which the library knows as 0."""
    if value is None:
        return 0.0
    number = float(value)
    if not 0 < number < float("inf"):
        raise errors.usage(f"{what} is {number:g}; it has to be above 0 and finite")
    return number


def parse_bytes(size: Size) -> int:
    """Reads a size in bytes: a whole number, or a text as in the commands of vbslab.

    The units are B, kB, MB, GB, ... (powers of 1000) and KiB, MiB, GiB, ... (powers of 1024).

    >>> vbslab.parse_bytes("20MiB")
    20971520
    >>> vbslab.parse_bytes("1.5kB")
    1500
    >>> vbslab.parse_bytes("20 turtles")
    Traceback (most recent call last):
    vbslab.errors.UsageError: '20 turtles' is not a size; write for example 15MiB, 1.5GB or 1048576
    """
    if not isinstance(size, str):
        return integer(size, "a size", 0, lib.VBS_MAX_BYTES)
    out = ffi.new("int64_t *")
    with Call() as call:
        call(lib.vbs_parse_bytes, name_of(size, "a size"), out)
    return int(out[0])


def format_bytes(size: int) -> str:
    """Writes a size as people read it.

    >>> vbslab.format_bytes(20971520)
    '20 MiB'
    """
    buffer = ffi.new("char[24]")
    return text_of(lib.vbs_format_bytes(integer(size, "a size", 0, lib.VBS_MAX_BYTES), buffer, 24))


def format_us(time_us: float) -> str:
    """Writes a time as people read it, such as "81.4 ms"."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if abs(time_us) >= factor:
            return f"{time_us / factor:.4g} {unit}"
    return f"{time_us:.4g} us"


def byte_range(sizes: SizeRange) -> Any:
    """A struct vbs_byte_range of one size, a text such as "15MiB..40MiB:1MiB", or a range."""
    out = ffi.new("struct vbs_byte_range *")
    if isinstance(sizes, str):
        with Call() as call:
            call(lib.vbs_parse_byte_range, name_of(sizes, "a range of sizes"), out)
        return out
    if not isinstance(sizes, range):
        sizes = range(parse_bytes(sizes), parse_bytes(sizes) + 1)
    if len(sizes) == 0 or sizes.step < 0:
        raise errors.usage(f"{sizes} has no sizes, or they descend")
    out.from_bytes, out.to_bytes, out.step_bytes = sizes[0], sizes[-1], sizes.step
    return out


def batches_of(batches: Union[str, Iterable[int]]) -> Any:
    """An int[] of batches, from a text such as "1-12" or numbers."""
    if not isinstance(batches, str):
        most = lib.VBS_MAX_BATCH
        numbers = sorted({integer(batch, "a batch", 1, most) for batch in batches})
    else:
        out, n = ffi.new("int **"), ffi.new("int *")
        with Call() as call:
            call(lib.vbs_parse_batches, name_of(batches, "a list of batches"), out, n)
        numbers = ffi.unpack(out[0], n[0])
        lib.free(out[0])
    if not numbers or numbers[0] != 1:
        raise errors.usage(f"the batches {batches!r} lack 1, which every profile must have")
    return ffi.new("int[]", numbers)


def io_of(word: str) -> int:
    out = ffi.new("enum vbs_io *")
    with Call() as call:
        call(lib.vbs_io_parse, name_of(word, "io"), out)
    return int(out[0])


def weights_of(word: str) -> int:
    out = ffi.new("enum vbs_weights *")
    with Call() as call:
        call(lib.vbs_weights_parse, name_of(word, "weights"), out)
    return int(out[0])


def shape_of(shape: Shape) -> Any:
    """A struct vbs_shape of "3x224x224" or (3, 224, 224)."""
    out = ffi.new("struct vbs_shape *")
    text = shape if isinstance(shape, str) else "x".join(str(integer(d, "a dimension", 1, 2**31 - 1)) for d in shape)
    with Call() as call:
        call(lib.vbs_shape_parse, name_of(text, "a shape"), out)
    return out


def dims_of(shape: Any) -> Tuple[int, ...]:
    return tuple(shape.dim[0 : shape.n_dims])


# ---- arrays over memory of the library ----


def _format(kind: Any) -> str:
    if kind.kind == "enum":
        return f"i{ffi.sizeof(kind)}"
    name = kind.cname
    letter = "?" if name == "_Bool" else "f" if name in ("double", "float") else "u" if name.startswith("u") else "i"
    return letter if letter == "?" else f"{letter}{ffi.sizeof(kind)}"


def dtype_of(struct: str) -> np.dtype:
    """The NumPy type of a struct of the library; members that are no numbers are left out."""
    kinds = ("primitive", "enum", "struct")
    fields = [(n, f) for n, f in ffi.typeof(struct).fields if f.type.kind in kinds]
    return np.dtype(
        {
            "names": [name for name, _ in fields],
            "formats": [
                dtype_of(field.type.cname) if field.type.kind == "struct" else _format(field.type) for _, field in fields
            ],
            "offsets": [field.offset for _, field in fields],
            "itemsize": ffi.sizeof(struct),
        }
    )


class _Memory:
    """Memory of the library, for NumPy; its owner lives as long as an array over it."""

    def __init__(self, address: Any, n: int, dtype: np.dtype, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__: Dict[str, Any] = {
            "version": 3,
            "shape": (n,),
            "typestr": dtype.str,
            "descr": dtype.descr,
            "data": (int(ffi.cast("uintptr_t", address)), True),
        }


def view(address: Any, n: int, struct: str, owner: Any) -> np.ndarray:
    """A read-only array of n structs at address, without a copy."""
    dtype = dtype_of(struct)
    if n == 0:
        return np.empty(0, dtype)
    raw = np.asarray(_Memory(address, n, np.dtype(f"V{dtype.itemsize}"), owner))
    return raw.view(dtype)


# ---- tables ----


def pandas() -> Any:
    try:
        import pandas as module
    except ImportError:
        raise ImportError("tables need pandas: pip install pandas, or apt-get install python3-pandas") from None
    return module


def frame(columns: Mapping[str, Any], about: Mapping[str, Any]) -> Any:
    """A DataFrame; about goes into its attrs."""
    made = pandas().DataFrame(dict(columns))
    made.attrs.update(about)
    return made


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], n_more: int = 0) -> str:
    """A table of HTML with a line above it."""
    import html

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(value))}</{tag}>" for value in values) + "</tr>"

    more = f"<p>and {n_more} more</p>" if n_more else ""
    return (
        f"<div><p>{html.escape(title)}</p><table><thead>{cells('th', head)}</thead>"
        f"<tbody>{''.join(cells('td', row) for row in rows)}</tbody></table>{more}</div>"
    )
