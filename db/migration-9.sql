-- Version 9: how much copies and layers slow each other down, and how fast the machine was.

PRAGMA user_version = 9;

-- The work of all threads together, per microsecond. Null: not known.
ALTER TABLE profile ADD COLUMN flops_per_us REAL CHECK (flops_per_us > 0);
ALTER TABLE profile ADD COLUMN cache_bytes_per_us REAL CHECK (cache_bytes_per_us > 0);
ALTER TABLE profile ADD COLUMN memory_bytes_per_us REAL CHECK (memory_bytes_per_us > 0)
    CHECK ((flops_per_us IS NULL) + (cache_bytes_per_us IS NULL) + (memory_bytes_per_us IS NULL)
           IN (0, 3));

DROP TRIGGER profile_is_final;

CREATE TRIGGER profile_is_final
BEFORE UPDATE OF id, model, input, backend, library, device, vbslab, date, notes, threads,
    network_hash, kernels_hash, owner, touched, completed, input_rows, flops_per_us,
    cache_bytes_per_us, memory_bytes_per_us ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- How many times as long a layer takes while weights are copied from a source; of layer 0, how many
-- times as long a copy takes while a layer computes. A source has factors of all layers or of none.
CREATE TABLE beside (
    profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    source  TEXT    NOT NULL CHECK (source <> ''),
    layer   INTEGER NOT NULL CHECK (layer BETWEEN 0 AND 4096),
    factor  REAL    NOT NULL CHECK (factor >= 1),
    PRIMARY KEY (profile, source, layer)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER beside_insert_is_final BEFORE INSERT ON beside
WHEN (SELECT completed FROM profile WHERE id = NEW.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER beside_update_is_final BEFORE UPDATE ON beside
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER beside_delete_is_final BEFORE DELETE ON beside
WHEN (SELECT completed FROM profile WHERE id = OLD.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;
