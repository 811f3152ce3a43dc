-- Version 8: rows of samples. A layer whose samples can be computed by rows says how many rows its
-- output has and which rows of its inputs they read, and a kernel may compute a stripe of rows.
--
-- The constraint that a kernel is unique must name its rows, and SQLite changes no constraint: both
-- tables of kernels are made anew. Foreign keys are off while a store is migrated; otherwise the
-- samples would be deleted with the old table. legacy_alter_table keeps the text of triggers of
-- other tables that name the table of kernels, which is missing for a moment.

PRAGMA user_version = 8;
PRAGMA legacy_alter_table = ON;

-- 0: the network's input is read whole.
ALTER TABLE profile ADD COLUMN input_rows INTEGER NOT NULL DEFAULT 0
    CHECK (input_rows BETWEEN 0 AND 2147483647);

DROP TRIGGER profile_is_final;

CREATE TRIGGER profile_is_final
BEFORE UPDATE OF id, model, input, backend, library, device, vbslab, date, notes, threads,
    network_hash, kernels_hash, owner, touched, completed, input_rows ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- Rows of the output; 0: the layer computes whole samples only.
ALTER TABLE layer ADD COLUMN out_rows INTEGER NOT NULL DEFAULT 0
    CHECK (out_rows BETWEEN 0 AND 2147483647);

-- The reach of the layer into this input (docs/accounting.md, "Rows"): a row y of the output reads
-- the rows from floor((step y + low) / unit) to floor((step y + high) / unit); unit 0: all rows.
-- Null: the layer is never computed by rows.
ALTER TABLE layer_input ADD COLUMN step INTEGER CHECK (step BETWEEN 0 AND 2147483647);
ALTER TABLE layer_input ADD COLUMN unit INTEGER CHECK (unit BETWEEN 0 AND 2147483647);
ALTER TABLE layer_input ADD COLUMN low INTEGER CHECK (low BETWEEN -2147483647 AND 2147483647);
ALTER TABLE layer_input ADD COLUMN high INTEGER
    CHECK (high BETWEEN low AND 2147483647)
    CHECK ((high IS NULL) + (low IS NULL) + (unit IS NULL) + (step IS NULL) IN (0, 4));

CREATE TABLE new_kernel (
    id           INTEGER PRIMARY KEY,
    profile      INTEGER NOT NULL,
    number       INTEGER NOT NULL CHECK (number >= 0), -- in the order of the session
    layer        INTEGER NOT NULL,
    batch        INTEGER NOT NULL CHECK (batch BETWEEN 1 AND 4096),
    algorithm    TEXT    NOT NULL CHECK (algorithm <> ''),
    ws_bytes     INTEGER NOT NULL CHECK (ws_bytes >= 0),
    weight_bytes INTEGER CHECK (weight_bytes >= 0),    -- as this kernel packs them; null: unknown
    time_us      REAL    CHECK (time_us >= 0), -- of the whole batch or stripe: median if n_runs > 0
    mad_us       REAL    CHECK (mad_us >= 0),
    low_us       REAL    CHECK (low_us >= 0),  -- 95% interval of the median
    high_us      REAL    CHECK (high_us >= low_us),
    n_runs       INTEGER CHECK (n_runs BETWEEN 0 AND 2147483647),
    form         INTEGER NOT NULL DEFAULT 0 CHECK (form BETWEEN 0 AND 63),
    parts        INTEGER NOT NULL DEFAULT 0 CHECK (parts BETWEEN 0 AND 4096),
    rows         INTEGER NOT NULL DEFAULT 0 CHECK (rows >= 0), -- of the output; 0: whole samples
    UNIQUE (profile, number),
    UNIQUE (profile, layer, batch, rows, algorithm),
    FOREIGN KEY (profile, layer) REFERENCES layer ON DELETE CASCADE
) STRICT;

INSERT INTO new_kernel (id, profile, number, layer, batch, algorithm, ws_bytes, weight_bytes,
    time_us, mad_us, low_us, high_us, n_runs, form, parts)
SELECT id, profile, number, layer, batch, algorithm, ws_bytes, weight_bytes, time_us, mad_us,
    low_us, high_us, n_runs, form, parts FROM kernel;

DROP TRIGGER kernel_delete_is_final;
DROP TABLE kernel;
ALTER TABLE new_kernel RENAME TO kernel;

CREATE TRIGGER kernel_insert_is_final BEFORE INSERT ON kernel
WHEN (SELECT completed FROM profile WHERE id = NEW.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER kernel_update_is_final BEFORE UPDATE ON kernel
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER kernel_delete_is_final BEFORE DELETE ON kernel
WHEN (SELECT completed FROM profile WHERE id = OLD.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TABLE new_timing_row (
    timing       INTEGER NOT NULL REFERENCES timing ON DELETE CASCADE,
    number       INTEGER NOT NULL CHECK (number >= 0), -- in the order of the session
    batch        INTEGER NOT NULL CHECK (batch BETWEEN 1 AND 4096),
    algorithm    TEXT    NOT NULL CHECK (algorithm <> ''),
    ws_bytes     INTEGER NOT NULL CHECK (ws_bytes >= 0),
    weight_bytes INTEGER CHECK (weight_bytes >= 0),
    form         INTEGER NOT NULL CHECK (form BETWEEN 0 AND 63),
    parts        INTEGER NOT NULL CHECK (parts BETWEEN 0 AND 4096),
    time_us      REAL    NOT NULL CHECK (time_us >= 0),
    mad_us       REAL    NOT NULL CHECK (mad_us >= 0),
    low_us       REAL    NOT NULL CHECK (low_us >= 0),
    high_us      REAL    NOT NULL CHECK (high_us >= low_us),
    n_runs       INTEGER NOT NULL CHECK (n_runs BETWEEN 0 AND 2147483647),
    rows         INTEGER NOT NULL DEFAULT 0 CHECK (rows >= 0), -- of the output; 0: whole samples
    PRIMARY KEY (timing, number),
    UNIQUE (timing, batch, rows, algorithm)
) STRICT, WITHOUT ROWID;

INSERT INTO new_timing_row (timing, number, batch, algorithm, ws_bytes, weight_bytes, form, parts,
    time_us, mad_us, low_us, high_us, n_runs)
SELECT timing, number, batch, algorithm, ws_bytes, weight_bytes, form, parts, time_us, mad_us,
    low_us, high_us, n_runs FROM timing_row;

DROP TABLE timing_row;
ALTER TABLE new_timing_row RENAME TO timing_row;

PRAGMA legacy_alter_table = OFF;
