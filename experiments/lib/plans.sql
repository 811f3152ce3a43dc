-- The plans of compare.csv: its rows about what fits, with readable units. A gain that would print
-- as -0.0 is 0.
CREATE VIEW plans AS
SELECT rowid AS place, label, judge, request, io, memory_bytes / 1048576 AS mib, planner,
    per_sample_us / 1e3 AS ms,
    iif(min_batch = max_batch, max_batch, min_batch || '-' || max_batch) AS batches,
    iif(gain_over_fbs_percent BETWEEN -0.05 AND 0, 0, gain_over_fbs_percent) AS over_fbs,
    iif(gain_over_fbs_best_percent BETWEEN -0.05 AND 0, 0, gain_over_fbs_best_percent) AS over_best,
    peak_bytes
FROM compare WHERE feasible = 'true';
