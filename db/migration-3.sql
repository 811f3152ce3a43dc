-- Version 3: in how many parts a kernel can run: 0 in any number that its weights allow, 1 never,
-- more in exactly so many, as it was measured. Earlier profiles do not say: 0.

PRAGMA user_version = 3;

ALTER TABLE kernel ADD COLUMN parts INTEGER NOT NULL DEFAULT 0 CHECK (parts BETWEEN 0 AND 4096);
