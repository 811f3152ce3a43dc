import matplotlib.pyplot as plt

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11.6, 3.9), layout="constrained")

trials = experiment.sql("SELECT study, gain, 100 * lost AS lost FROM aims WHERE trial > 0 AND study IN ('latency', 'throughput')")
for study, rows in trials.groupby("study"):
    left.plot(rows.gain, rows.lost, "o" if study == "throughput" else "s", fillstyle="none", label=study)
left.axhline(0.5, color="black", linestyle="--", linewidth=1, label="limit")
left.set(xlim=(1, 7), ylim=(2.7, -0.3))
left.set(title="trials, 122.5 KiB", xlabel="times the control, planned", ylabel="accuracy lost (points)")
left.legend()

speeds = experiment.sql("SELECT network, what, kib, value FROM medians WHERE what IN ('whole', 'again', 'kept') ORDER BY kib")
chosen = {
    "whole": ("latency", "whole"), "throughput, kept": ("throughput", "kept"),
    "latency, kept": ("latency", "kept"), "latency": ("latency", "again"), "throughput": ("throughput", "again"),
}
for label, (network, what) in chosen.items():
    rows = speeds[(speeds.network == network) & (speeds.what == what)]
    middle.plot(rows.kib, rows.value, "o-", markersize=3, label=label)
middle.set_xscale("log", base=2)
middle.set_ylim(0)
middle.set(title="what was chosen, by memory", xlabel="activations (KiB)", ylabel="images a second, executed")
middle.legend(loc="lower right", fontsize="small")

means = experiment.sql("SELECT kind, trial, avg(best) AS best FROM samplers GROUP BY kind, trial ORDER BY kind, trial")
for kind in ["bayesian", "random", "grid", "scalar"]:
    rows = means[means.kind == kind]
    right.plot(rows.trial, rows.best, "o-", markersize=3, label=kind)
right.set(title="samplers, mean of the seeds", xlabel="trial", ylabel="times the control, planned")
right.legend()
