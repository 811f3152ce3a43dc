-- Version 4: the content hash of a profile, by which the same content is kept once, and tags.
--
-- The hashes of profiles that earlier versions completed are computed when this script has run
-- (src/store/rows.c); of several profiles with one content only the first has it.

PRAGMA user_version = 4;

ALTER TABLE profile ADD COLUMN hash TEXT CHECK (hash IS NULL OR completed IS NOT NULL);

CREATE UNIQUE INDEX profile_by_hash ON profile (hash) WHERE hash IS NOT NULL;

DROP TRIGGER profile_is_final;

CREATE TRIGGER profile_is_final
BEFORE UPDATE OF id, model, input, backend, library, device, vbslab, date, notes, threads,
    network_hash, kernels_hash, owner, touched, completed ON profile
WHEN OLD.completed IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER profile_hash_is_final BEFORE UPDATE OF hash ON profile
WHEN OLD.hash IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- Names that people give to profiles; a tag that is given anew leaves the profile it had.
CREATE TABLE tag (
    tag     TEXT PRIMARY KEY CHECK (tag <> ''),
    profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_by_profile ON tag (profile);
