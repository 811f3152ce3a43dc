times = experiment.sql("""
    SELECT iif(layer = 'filters', 'so many filters, reading 64 channels', '64 filters, reading so many channels') AS panel,
        size || ' x ' || size AS size, width, time_us / 1e3 AS ms FROM times WHERE batch = 16 ORDER BY layer DESC, times.size, width
""")
figure, axes = curves(
    times, "width", "ms", line="size", panel="panel", free=True, xlim=(0, 98), ylim=(0, None), xticks=range(0, 97, 16),
    xlabel="filters or channels", ylabel="time of a batch of 16 (ms)",
)
