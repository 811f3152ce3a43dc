"""Plans and runs convolutional networks inside a memory budget.

    network = vbslab.Network("googlenet")               # or a .net, .onnx or .vbz file
    profile = network.measure(time_limit_s=60)          # or vbslab.Profile("googlenet"), from the store
    plan = profile.plan(memory="20MiB", request=12)     # a Schedule
    curve = profile.frontier(request=12)                # every budget at which the plan changes
    verdict = profile.replay(plan)                      # judged by a simulator that knows no planner
    table = profile.compare("15MiB..40MiB:1MiB").to_dataframe()
    with vbslab.Executor(network, profile, memory="20MiB", request=12) as executor:
        y = executor.predict(x)

Sizes are whole numbers of bytes or texts such as "20MiB"; times are microseconds (`_us`) or seconds
(`_s`). Objects free what they own when they are closed or garbage. Networks, profiles, schedules,
frontiers, replays and comparisons are immutable and may be shared by threads; of a solver, a store or
an executor, a second thread waits for the first. Long calls release the GIL, and Ctrl-C ends them.
"""

import os as _os

from ._waiting import spin_count as _spin_count

# libgomp reads its settings when it is loaded, here. Unless the user has chosen, a thread that waits
# looks some microseconds for work and then sleeps, or sleeps at once where others compute, too: with
# libgomp's default it would keep its processor for milliseconds from the thread that it waits for.
_spins_here = "GOMP_SPINCOUNT" not in _os.environ and "OMP_WAIT_POLICY" not in _os.environ
if _spins_here:
    _os.environ["GOMP_SPINCOUNT"] = _spin_count()

from ._native import ffi as _ffi  # noqa: E402
from ._native import lib as _lib  # noqa: E402

if _spins_here:
    del _os.environ["GOMP_SPINCOUNT"]

__version__ = _ffi.string(_lib.VBS_VERSION_STRING).decode()

if _ffi.string(_lib.vbs_version()).decode() != __version__:
    raise ImportError(
        f"vbslab was compiled with headers of version {__version__}, but contains the library "
        f"{_ffi.string(_lib.vbs_version()).decode()}; run 'make', and install the package again"
    )

from . import errors  # noqa: E402
from ._call import cancel_calls, leftover  # noqa: E402
from ._convert import format_bytes, parse_bytes  # noqa: E402
from .compare import Comparison  # noqa: E402
from .errors import *  # noqa: E402, F401, F403
from .executor import Executor, Placement, Run  # noqa: E402
from .network import Input, Layer, Network, Output, models  # noqa: E402
from .plan import Frontier, Infeasibility, Planner, ProcessMemory, Schedule, Solver, planners  # noqa: E402
from .profile import Copy, Profile, ProfileLayer, Provenance, Reach, Speed  # noqa: E402
from .replay import Replay  # noqa: E402
from .store import Backend, Entry, Store, backends, default_store  # noqa: E402

__all__ = [
    "Backend",
    "Comparison",
    "Copy",
    "Entry",
    "Executor",
    "Frontier",
    "Infeasibility",
    "Input",
    "Layer",
    "Network",
    "Output",
    "Placement",
    "Planner",
    "ProcessMemory",
    "Profile",
    "ProfileLayer",
    "Provenance",
    "Reach",
    "Replay",
    "Run",
    "Schedule",
    "Solver",
    "Speed",
    "Store",
    "backends",
    "cancel_calls",
    "default_store",
    "format_bytes",
    "leftover",
    "models",
    "parse_bytes",
    "planners",
    *errors.__all__,
]
