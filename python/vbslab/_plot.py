"""Pictures that gnuplot draws: how they look."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Tuple

from . import errors
from ._convert import Texts
from ._native import ffi

Lengths = Tuple[float, float]


def _lengths(size: Lengths) -> Lengths:
    try:
        width, height = (float(length) for length in size)
    except (TypeError, ValueError):
        raise TypeError(f"size is {size!r}, not a pair of inches such as (4.6, 3)") from None
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise errors.usage(f"size is {size!r}; both lengths have to be above 0 and finite")
    return width, height


def plot_options(
    size: Optional[Lengths], font: Optional[str], font_size: Optional[float], series: Optional[Sequence[str]], data: bool
) -> Tuple[Any, Any]:
    """A struct vbs_plot_options, and what has to live as long. The library checks what the picture allows."""
    texts = Texts()
    options = ffi.new("struct vbs_plot_options *")
    options.struct_size = ffi.sizeof("struct vbs_plot_options")
    if size is not None:
        options.width, options.height = _lengths(size)
    options.font = texts(font, "font")
    if font_size is not None:
        options.font_points = float(font_size)
        if not 0 < options.font_points < math.inf:
            raise errors.usage(f"font_size is {font_size}; it has to be above 0 and finite")
    if isinstance(series, str):
        raise TypeError("series is a str, not a list of names")
    names = [texts(name, "a name of series") for name in series or ()]
    if series is not None and not names:
        raise errors.usage("there is no series to draw")
    array = ffi.new("const char *[]", names) if names else ffi.NULL
    options.series, options.n_series, options.with_data = array, len(names), bool(data)
    return options, (texts, array)
