-- Version 11: whether a profile is one of stripes.

PRAGMA user_version = 11;

-- 'rows': the tensors have the layout of a session with stripes; '': they have not, or it is not
-- known, as in profiles of before.
ALTER TABLE profile ADD COLUMN layout TEXT NOT NULL DEFAULT '';

DROP TRIGGER profile_is_final;

CREATE TRIGGER profile_is_final
BEFORE UPDATE OF id, model, input, backend, library, device, vbslab, date, notes, threads,
    network_hash, kernels_hash, owner, touched, completed, input_rows, flops_per_us,
    cache_bytes_per_us, memory_bytes_per_us, times, layout ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;
