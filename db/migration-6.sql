-- Version 6: the single times of a kernel in one value, and a hash over all single times of a
-- profile, by which profiles of several stores are compared.
--
-- A measurement appends its single times as rows of `sample`. When it is finished, those of each
-- kernel are packed into one row of `packed_sample`, which takes three fifths of the space and is
-- copied and deleted as one row. Profiles that earlier versions completed keep their rows.

PRAGMA user_version = 6;

-- 12 bytes for each single time, in their order: the round as an integer of 32 bits and the time in
-- microseconds as an IEEE 754 number of 64 bits, both with the lowest byte first. Rows of `sample`
-- of the same kernel come after them: a measurement was resumed that was about to be completed.
CREATE TABLE packed_sample (
    kernel  INTEGER PRIMARY KEY REFERENCES kernel ON DELETE CASCADE,
    samples BLOB    NOT NULL CHECK (length(samples) > 0 AND length(samples) % 12 = 0)
) STRICT;

CREATE TRIGGER packed_sample_insert_is_final BEFORE INSERT ON packed_sample
WHEN (SELECT completed FROM profile JOIN kernel ON kernel.profile = profile.id
      WHERE kernel.id = NEW.kernel) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER packed_sample_update_is_final BEFORE UPDATE ON packed_sample
WHEN EXISTS (SELECT 1 FROM profile JOIN kernel ON kernel.profile = profile.id
             WHERE kernel.id IN (OLD.kernel, NEW.kernel) AND completed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

CREATE TRIGGER packed_sample_delete_is_final BEFORE DELETE ON packed_sample
WHEN (SELECT completed FROM profile JOIN kernel ON kernel.profile = profile.id
      WHERE kernel.id = OLD.kernel) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- How many single times the profile has, of kernels and copies, and a hash of them and of
-- network_hash and kernels_hash; null: not computed yet.
ALTER TABLE profile ADD COLUMN n_samples INTEGER CHECK (n_samples >= 0);
ALTER TABLE profile ADD COLUMN samples_hash TEXT
    CHECK ((samples_hash IS NULL) = (n_samples IS NULL));

CREATE TRIGGER profile_samples_are_final BEFORE UPDATE OF n_samples, samples_hash ON profile
WHEN OLD.samples_hash IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a complete profile cannot be changed');
END;

-- Finds profiles of one origin.
CREATE INDEX profile_by_date ON profile (model, date) WHERE completed IS NOT NULL;
