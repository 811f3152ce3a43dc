times = experiment.sql("""
    SELECT network || ' fc6, batch ' || batch AS panel, block, comp_ms AS ms, 'comp:gemm' AS what FROM times WHERE batch = :batch
    UNION ALL SELECT network || ' fc6, batch ' || batch, block, comp_decode_ms, 'decoding' FROM times WHERE batch = :batch
    UNION ALL SELECT network || ' fc6, batch ' || batch, block, comp_rest_ms, 'the rest' FROM times WHERE batch = :batch
    UNION ALL SELECT network || ' fc6, batch ' || batch, block, sparse_ms, 'comp:sparse' FROM times WHERE batch = :batch
    UNION ALL SELECT network || ' fc6, batch ' || batch, block, dense_ms, 'dense weights' FROM times WHERE batch = :batch
""", batch=256)
figure, axes = curves(
    times, "block", "ms", line="what", panel="panel", free=True, xscale="log", ylim=(0, None),
    xlabel="rows and columns of a block", ylabel="time (ms)",
)
for axis in axes:
    axis.set_xticks([16, 64, 256, 1024, 4096], [16, 64, 256, 1024, 4096])
