import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")

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
    right.plot(rows.kib, rows.value, "o-", markersize=3, label=label)
right.set_xscale("log", base=2)
right.set_ylim(0)
right.set(title="what was chosen, by memory", xlabel="activations (KiB)", ylabel="images a second, executed")
right.legend()
