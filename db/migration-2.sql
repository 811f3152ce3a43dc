-- Version 2: how each kernel packs its weights, and how fast weights can be copied.
--
-- Kernels of a layer with the same form read the same packed weights. Profiles of version 1 do not
-- say their forms: each size of packed weights of a layer becomes a form of its own, by ascending
-- size, as if kernels that pack to the same size packed alike. Of more than 64 sizes, the last form
-- stands for the rest and takes the largest.

PRAGMA user_version = 2;

ALTER TABLE layer ADD COLUMN channels INTEGER NOT NULL DEFAULT 0 CHECK (channels >= 0);
ALTER TABLE kernel ADD COLUMN form INTEGER NOT NULL DEFAULT 0 CHECK (form BETWEEN 0 AND 63);

DROP TRIGGER kernel_update_is_final;

UPDATE kernel SET form = min(ranked.rank - 1, 63)
FROM (SELECT id, dense_rank() OVER (PARTITION BY profile, layer ORDER BY weight_bytes) AS rank
      FROM kernel) AS ranked
WHERE kernel.id = ranked.id AND ranked.rank > 1;

UPDATE kernel SET weight_bytes = largest.bytes
FROM (SELECT profile, layer, max(weight_bytes) AS bytes FROM kernel WHERE form = 63
      GROUP BY profile, layer) AS largest
WHERE kernel.form = 63 AND kernel.profile = largest.profile AND kernel.layer = largest.layer;

CREATE TRIGGER kernel_update_is_final BEFORE UPDATE ON kernel
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- A size of copy into the memory that the budget bounds. The statistics stay null until the profile
-- is completed.
CREATE TABLE copy (
    id      INTEGER PRIMARY KEY,
    profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    number  INTEGER NOT NULL CHECK (number >= 0), -- sources in the order of their first
    source  TEXT    NOT NULL CHECK (source <> ''),
    bytes   INTEGER NOT NULL CHECK (bytes >= 1),
    time_us REAL    CHECK (time_us > 0),          -- median if n_runs > 0
    mad_us  REAL    CHECK (mad_us >= 0),
    low_us  REAL    CHECK (low_us >= 0),          -- 95% interval of the median
    high_us REAL    CHECK (high_us >= low_us),
    n_runs  INTEGER CHECK (n_runs BETWEEN 0 AND 2147483647),
    UNIQUE (profile, number),
    UNIQUE (profile, source, bytes)
) STRICT;

-- Every single time that was taken.
CREATE TABLE copy_sample (
    copy    INTEGER NOT NULL REFERENCES copy ON DELETE CASCADE,
    number  INTEGER NOT NULL CHECK (number >= 0), -- 0, 1, 2, ... of its copy
    time_us REAL    NOT NULL CHECK (time_us > 0),
    PRIMARY KEY (copy, number)
) STRICT, WITHOUT ROWID;

DROP TRIGGER profile_has_times;

CREATE TRIGGER profile_has_times BEFORE UPDATE OF completed ON profile
WHEN NEW.completed IS NOT NULL
 AND (EXISTS (SELECT 1 FROM kernel WHERE profile = NEW.id AND (time_us IS NULL OR n_runs IS NULL))
   OR EXISTS (SELECT 1 FROM copy WHERE profile = NEW.id AND (time_us IS NULL OR n_runs IS NULL)))
BEGIN
    SELECT RAISE(ABORT, 'a profile with kernels or copies that have no time cannot be completed');
END;

CREATE TRIGGER copy_insert_is_final BEFORE INSERT ON copy
WHEN (SELECT completed FROM profile WHERE id = NEW.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER copy_update_is_final BEFORE UPDATE ON copy
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER copy_delete_is_final BEFORE DELETE ON copy
WHEN (SELECT completed FROM profile WHERE id = OLD.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER copy_sample_insert_is_final BEFORE INSERT ON copy_sample
WHEN (SELECT completed FROM profile JOIN copy ON copy.profile = profile.id
      WHERE copy.id = NEW.copy) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER copy_sample_update_is_final BEFORE UPDATE ON copy_sample
WHEN EXISTS (SELECT 1 FROM profile JOIN copy ON copy.profile = profile.id
             WHERE copy.id IN (OLD.copy, NEW.copy) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER copy_sample_delete_is_final BEFORE DELETE ON copy_sample
WHEN (SELECT completed FROM profile JOIN copy ON copy.profile = profile.id
      WHERE copy.id = OLD.copy) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;
