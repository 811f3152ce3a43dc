-- Version 7: what a trial trained, so that trials of other studies need not train it again.

PRAGMA user_version = 7;

-- A hash of the network as it was before training, the images, the options and the seed of training,
-- the number of epochs, the threads and the build: all that decides the trained network. Null: the
-- trial has not been trained, or an earlier version trained it.
ALTER TABLE trial ADD COLUMN training TEXT CHECK (training <> '');

CREATE INDEX trial_by_training ON trial (training) WHERE training IS NOT NULL;
