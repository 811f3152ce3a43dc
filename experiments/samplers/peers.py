"""peers.py LIBRARY PROBLEM SAMPLER WORKERS SEED... - the same as search.c with Optuna.

LIBRARY holds the functions of problems.c. SAMPLER: tpe, gp, nsga2. As many trials run at once as
there are workers; the oldest ends first. Optuna minimises constraints and takes them as satisfied
where they are at most 0; both are turned around here.
"""

import ctypes
import math
import sys
import time
import warnings

import optuna

KIND_INTEGER = 1
KIND_CATEGORICAL = 2


def open_library(path):
    library = ctypes.CDLL(path)
    library.problem_name.restype = ctypes.c_char_p
    library.problem_hypervolume.restype = ctypes.c_double
    return library


class Problem:
    def __init__(self, library, name):
        names = [library.problem_name(i).decode() for i in range(library.n_problems())]
        self.library, self.index = library, names.index(name)
        counts = (ctypes.c_int * 4)()
        library.problem_counts(self.index, counts)
        self.width, self.n_objectives, self.n_constraints, self.n_trials = counts
        self.bounds = []
        for i in range(self.width):
            bounds = (ctypes.c_double * 5)()
            library.problem_parameter(self.index, i, bounds)
            self.bounds.append(tuple(bounds))

    def suggest(self, trial):
        point = []
        for i, (kind, low, high, log, n_choices) in enumerate(self.bounds):
            name = f"x{i}"
            if kind == KIND_CATEGORICAL:
                point.append(trial.suggest_categorical(name, list(range(int(n_choices)))))
            elif kind == KIND_INTEGER:
                point.append(trial.suggest_int(name, int(low), int(high)))
            else:
                point.append(trial.suggest_float(name, low, high, log=bool(log)))
        return point

    def evaluate(self, point):
        values = (ctypes.c_double * 8)()
        self.library.problem_evaluate(self.index, (ctypes.c_double * 8)(*point), values)
        return list(values[: self.n_objectives + self.n_constraints])

    def hypervolume(self, values):
        flat = [v for row in values for v in row[:2]]
        return self.library.problem_hypervolume(
            self.index, (ctypes.c_double * len(flat))(*flat), len(values)
        )

    def best(self, values):
        if self.n_objectives == 2:
            return self.hypervolume(values)
        feasible = [v[0] for v in values if all(c >= 0 for c in v[1:])]
        return max(feasible, default=math.nan)


def make_sampler(name, seed, constrained):
    def constraints(trial):
        return [-c for c in trial.user_attrs["constraints"]]

    function = constraints if constrained else None
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed, constraints_func=function)
    if name == "nsga2":
        return optuna.samplers.NSGAIISampler(seed=seed, constraints_func=function)
    return optuna.samplers.GPSampler(seed=seed, constraints_func=function)


def search(problem, name, sampler, workers, seed):
    study = optuna.create_study(
        directions=["maximize"] * problem.n_objectives,
        sampler=make_sampler(sampler, seed, problem.n_constraints > 0),
    )
    running, values, times = [], [], []
    for i in range(problem.n_trials):
        start = time.process_time()
        trial = study.ask()
        running.append((trial, problem.suggest(trial)))
        times.append(time.process_time() - start)
        while running and (len(running) >= workers or i + 1 == problem.n_trials):
            trial, point = running.pop(0)
            row = problem.evaluate(point)
            values.append(row)
            trial.set_user_attr("constraints", row[problem.n_objectives :])
            study.tell(trial, row[: problem.n_objectives])
            print(
                f"{name},{sampler},{workers},{seed},{len(values)},"
                f"{problem.best(values):.10g},{times[len(values) - 1] * 1e6:.0f}",
                flush=True,
            )


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    library, name, sampler, workers = sys.argv[1:5]
    problem = Problem(open_library(library), name)
    for seed in sys.argv[5:]:
        search(problem, name, sampler, int(workers), int(seed))


main()
