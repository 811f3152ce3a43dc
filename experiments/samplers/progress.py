reached = experiment.sql("""
    SELECT problem, sampler, trial, median FROM curves
    WHERE workers = 1 AND sampler IN ('random', 'grid', 'tpe', 'gp', 'bayesian') AND typeof(median) <> 'text'
""")
figure, axes = curves(
    reached, "trial", "median", line="sampler", panel="problem", kind="lines", columns=4, free=True, size=(9.4, 5.2), xlabel="trial",
)
LEAST = {"hartmann": 2, "branin": -3, "rosenbrock": -60, "gardner": 1, "mixed": -0.6, "pruning": 1, "zdt1": 3, "pareto": 20}
for axis in axes:
    axis.set_ylim(bottom=LEAST[axis.get_title()])
