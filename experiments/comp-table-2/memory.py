memory = experiment.sql("""
    SELECT network || ' fc6' AS network, block, published_kib AS kib, 'COMP' AS what FROM memory UNION ALL
    SELECT network || ' fc6', block, dense_bytes / 1024.0, 'one dense block' FROM memory UNION ALL
    SELECT network || ' fc6', block, gemm_1_bytes / 1024.0, 'comp:gemm, batch 1' FROM memory UNION ALL
    SELECT network || ' fc6', block, gemm_256_bytes / 1024.0, 'comp:gemm, batch 256' FROM memory UNION ALL
    SELECT network || ' fc6', block, sparse_1_bytes / 1024.0, 'comp:sparse, batch 1' FROM memory
""")
figure, axes = curves(
    memory, "block", "kib", line="what", panel="network", xscale="log", yscale="log",
    xlabel="rows and columns of a block", ylabel="working memory (KiB)",
)
for axis in axes:
    axis.set_xticks([16, 64, 256, 1024, 4096], [16, 64, 256, 1024, 4096])
