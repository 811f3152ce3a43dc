-- Version 10: whether the times of a profile are posterior ones.

PRAGMA user_version = 10;

-- 'posterior', or '': medians of runs, times of a model, or not known, as in profiles of before.
ALTER TABLE profile ADD COLUMN times TEXT NOT NULL DEFAULT '';

DROP TRIGGER profile_is_final;

CREATE TRIGGER profile_is_final
BEFORE UPDATE OF id, model, input, backend, library, device, vbslab, date, notes, threads,
    network_hash, kernels_hash, owner, touched, completed, input_rows, flops_per_us,
    cache_bytes_per_us, memory_bytes_per_us, times ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;
