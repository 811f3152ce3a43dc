-- Version 5: kernel times by geometry, from which profiles of networks that were never measured as a
-- whole are assembled; and studies, with their trials.

PRAGMA user_version = 5;

-- All kernels of one geometry (vbs_session_geometry) at a list of batches, as one machine ran them.
-- Geometry 0 stands for the copies of weights on that machine.
CREATE TABLE timing (
    id       INTEGER PRIMARY KEY,
    geometry INTEGER NOT NULL, -- 64 bits, signed
    batches  TEXT    NOT NULL, -- "1,2,4": ascending; empty for copies
    backend  TEXT    NOT NULL,
    library  TEXT    NOT NULL,
    device   TEXT    NOT NULL,
    vbslab   TEXT    NOT NULL,
    threads  INTEGER NOT NULL CHECK (threads BETWEEN 0 AND 2147483647),
    date     TEXT    NOT NULL, -- UTC, ISO 8601
    UNIQUE (geometry, batches, backend, library, device, vbslab, threads)
) STRICT;

-- The columns have the meanings that they have in the table kernel.
CREATE TABLE timing_row (
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
    PRIMARY KEY (timing, number),
    UNIQUE (timing, batch, algorithm)
) STRICT, WITHOUT ROWID;

-- The columns have the meanings that they have in the table copy.
CREATE TABLE timing_copy (
    timing  INTEGER NOT NULL REFERENCES timing ON DELETE CASCADE,
    number  INTEGER NOT NULL CHECK (number >= 0),
    source  TEXT    NOT NULL CHECK (source <> ''),
    bytes   INTEGER NOT NULL CHECK (bytes >= 1),
    time_us REAL    NOT NULL CHECK (time_us > 0),
    mad_us  REAL    NOT NULL CHECK (mad_us >= 0),
    low_us  REAL    NOT NULL CHECK (low_us >= 0),
    high_us REAL    NOT NULL CHECK (high_us >= low_us),
    n_runs  INTEGER NOT NULL CHECK (n_runs BETWEEN 0 AND 2147483647),
    PRIMARY KEY (timing, number),
    UNIQUE (timing, source, bytes)
) STRICT, WITHOUT ROWID;

-- A study. Two studies never have one name, and the description of a study never changes.
CREATE TABLE study (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    name        TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    description TEXT    NOT NULL, -- JSON, as docs/formats.md describes it
    hash        TEXT    NOT NULL, -- of all that decides the results of its trials
    vbslab      TEXT    NOT NULL, -- the build that runs it
    date        TEXT    NOT NULL  -- UTC, ISO 8601: begun
) STRICT;

CREATE TRIGGER study_is_final BEFORE UPDATE OF name, description, hash ON study
BEGIN
    SELECT RAISE(ABORT, 'the description of a study cannot be changed');
END;

-- A trial: one point of the search space, what was done with it, and what came out.
CREATE TABLE trial (
    id      INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    study   INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
    number  INTEGER NOT NULL CHECK (number >= 0), -- 0, 1, 2, ... of its study
    state   TEXT    NOT NULL CHECK (state IN ('running', 'complete', 'infeasible', 'failed')),
    stage   TEXT    NOT NULL, -- the work that comes next while it runs; empty afterwards
    seed    INTEGER NOT NULL, -- 64 bits, signed
    owner   TEXT,             -- the process that works on it (src/store/owner.c); null: none
    touched INTEGER,          -- Unix time of the owner's last commit
    begun   TEXT    NOT NULL, -- UTC, ISO 8601
    ended   TEXT,             -- likewise; null while it runs
    spent_s REAL    NOT NULL DEFAULT 0 CHECK (spent_s >= 0), -- in all stages, by all its owners
    file    TEXT    NOT NULL DEFAULT '', -- the network that it made
    reason  TEXT    NOT NULL DEFAULT '', -- why it is infeasible or failed
    UNIQUE (study, number),
    CHECK ((state = 'running') = (ended IS NULL)),
    CHECK (state = 'running' OR owner IS NULL)
) STRICT;

CREATE INDEX trial_by_state ON trial (study, state, stage);

CREATE TABLE trial_value (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    kind  TEXT    NOT NULL CHECK (kind IN ('parameter', 'result')),
    name  TEXT    NOT NULL CHECK (name <> ''),
    value REAL    NOT NULL,
    PRIMARY KEY (trial, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER trial_is_final BEFORE UPDATE ON trial
WHEN OLD.state <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'a trial that has ended cannot be changed');
END;

CREATE TRIGGER trial_value_insert_is_final BEFORE INSERT ON trial_value
WHEN (SELECT state FROM trial WHERE id = NEW.trial) <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'a trial that has ended cannot be changed');
END;

CREATE TRIGGER trial_value_update_is_final BEFORE UPDATE ON trial_value
WHEN EXISTS (SELECT 1 FROM trial WHERE id IN (OLD.trial, NEW.trial) AND state <> 'running')
BEGIN
    SELECT RAISE(ABORT, 'a trial that has ended cannot be changed');
END;

CREATE TRIGGER trial_value_delete_is_final BEFORE DELETE ON trial_value
WHEN EXISTS (SELECT 1 FROM trial WHERE id = OLD.trial AND state <> 'running')
BEGIN
    SELECT RAISE(ABORT, 'a trial that has ended cannot be changed');
END;
