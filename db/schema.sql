-- The store of vbslab, version 1: profiles, and the raw samples from which they were made.
--
-- Compiled into the library (tools/embed.sh) and run in one transaction on an empty file. Once a
-- version is released its script never changes: a later version is a script of its own,
-- db/migration-N.sql, which brings version N - 1 to N and ends with its own PRAGMA user_version.
-- A new store runs them all, in order.
--
-- A profile is under measurement until `completed` is set. From then on the triggers below refuse
-- every change to its rows, whoever tries; only the profile as a whole can be deleted.

PRAGMA application_id = 1447187276; -- 0x5642534C, "VBSL"
PRAGMA user_version = 1;

CREATE TABLE profile (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    model        TEXT    NOT NULL,
    input        TEXT    NOT NULL,
    backend      TEXT    NOT NULL,
    library      TEXT    NOT NULL,
    device       TEXT    NOT NULL,
    vbslab       TEXT    NOT NULL,
    date         TEXT    NOT NULL, -- UTC, ISO 8601: begun, once complete: completed
    notes        TEXT    NOT NULL,
    threads      INTEGER NOT NULL CHECK (threads BETWEEN 0 AND 2147483647),
    network_hash INTEGER,          -- 64 bits, signed; null: not measured into this store
    kernels_hash INTEGER,          -- of all layers and kernels; null likewise
    owner        TEXT,             -- the process that measures it (src/store/owner.c); null: none
    touched      INTEGER,          -- Unix time of the owner's last commit
    completed    INTEGER UNIQUE,   -- counts the completions in this store; null: unfinished
    CHECK (completed IS NULL OR owner IS NULL)
) STRICT;

CREATE INDEX profile_by_model ON profile (model, completed);
CREATE INDEX profile_unfinished ON profile (kernels_hash) WHERE completed IS NULL;

CREATE TABLE layer (
    profile      INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    layer        INTEGER NOT NULL CHECK (layer BETWEEN 1 AND 4096),
    name         TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    in_bytes     INTEGER NOT NULL CHECK (in_bytes >= 0),     -- per sample, all inputs together
    out_bytes    INTEGER NOT NULL CHECK (out_bytes >= 0),    -- per sample
    weight_bytes INTEGER NOT NULL CHECK (weight_bytes >= 0), -- once
    in_place     INTEGER NOT NULL CHECK (in_place IN (0, 1)),
    PRIMARY KEY (profile, layer)
) STRICT, WITHOUT ROWID;

-- What a layer reads, in order; source 0 is the network's input.
CREATE TABLE layer_input (
    profile  INTEGER NOT NULL,
    layer    INTEGER NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    source   INTEGER NOT NULL CHECK (source >= 0 AND source < layer),
    PRIMARY KEY (profile, layer, position),
    FOREIGN KEY (profile, layer) REFERENCES layer ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One way to run one layer on one batch. The statistics stay null until the profile is completed.
CREATE TABLE kernel (
    id           INTEGER PRIMARY KEY,
    profile      INTEGER NOT NULL,
    number       INTEGER NOT NULL CHECK (number >= 0), -- in the order of the session
    layer        INTEGER NOT NULL,
    batch        INTEGER NOT NULL CHECK (batch BETWEEN 1 AND 4096),
    algorithm    TEXT    NOT NULL CHECK (algorithm <> ''),
    ws_bytes     INTEGER NOT NULL CHECK (ws_bytes >= 0),
    weight_bytes INTEGER CHECK (weight_bytes >= 0),    -- as this kernel packs them; null: unknown
    time_us      REAL    CHECK (time_us >= 0),         -- of the whole batch: median if n_runs > 0
    mad_us       REAL    CHECK (mad_us >= 0),
    low_us       REAL    CHECK (low_us >= 0),          -- 95% interval of the median
    high_us      REAL    CHECK (high_us >= low_us),
    n_runs       INTEGER CHECK (n_runs BETWEEN 0 AND 2147483647),
    UNIQUE (profile, number),
    UNIQUE (profile, layer, batch, algorithm),
    FOREIGN KEY (profile, layer) REFERENCES layer ON DELETE CASCADE
) STRICT;

-- Every single time that was taken. Rounds go on counting when a measurement is resumed.
CREATE TABLE sample (
    kernel  INTEGER NOT NULL REFERENCES kernel ON DELETE CASCADE,
    number  INTEGER NOT NULL CHECK (number >= 0), -- 0, 1, 2, ... of its kernel
    round   INTEGER NOT NULL CHECK (round >= 0),
    time_us REAL    NOT NULL CHECK (time_us >= 0),
    PRIMARY KEY (kernel, number)
) STRICT, WITHOUT ROWID;

-- When a whole profile is deleted, its row is gone before the rows that belong to it go: the
-- triggers below then find no completed profile and let them.

CREATE TRIGGER profile_is_final BEFORE UPDATE ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER profile_has_times BEFORE UPDATE OF completed ON profile
WHEN NEW.completed IS NOT NULL
 AND EXISTS (SELECT 1 FROM kernel WHERE profile = NEW.id AND (time_us IS NULL OR n_runs IS NULL))
BEGIN
    SELECT RAISE(ABORT, 'a profile with kernels that have no time cannot be completed');
END;

CREATE TRIGGER layer_insert_is_final BEFORE INSERT ON layer
WHEN (SELECT completed FROM profile WHERE id = NEW.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER layer_update_is_final BEFORE UPDATE ON layer
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER layer_delete_is_final BEFORE DELETE ON layer
WHEN (SELECT completed FROM profile WHERE id = OLD.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER layer_input_insert_is_final BEFORE INSERT ON layer_input
WHEN (SELECT completed FROM profile WHERE id = NEW.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER layer_input_update_is_final BEFORE UPDATE ON layer_input
WHEN EXISTS (SELECT 1 FROM profile WHERE id IN (OLD.profile, NEW.profile) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER layer_input_delete_is_final BEFORE DELETE ON layer_input
WHEN (SELECT completed FROM profile WHERE id = OLD.profile) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

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

CREATE TRIGGER sample_insert_is_final BEFORE INSERT ON sample
WHEN (SELECT completed FROM profile JOIN kernel ON kernel.profile = profile.id
      WHERE kernel.id = NEW.kernel) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER sample_update_is_final BEFORE UPDATE ON sample
WHEN EXISTS (SELECT 1 FROM profile JOIN kernel ON kernel.profile = profile.id
             WHERE kernel.id IN (OLD.kernel, NEW.kernel) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER sample_delete_is_final BEFORE DELETE ON sample
WHEN (SELECT completed FROM profile JOIN kernel ON kernel.profile = profile.id
      WHERE kernel.id = OLD.kernel) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;
