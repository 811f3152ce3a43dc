-- Profiles `first` and `second` of :network, batches up to :last. Each layer and batch takes the
-- algorithm that is the fastest of the first profile; what it takes there and in the second one.
CREATE TABLE chosen AS
SELECT f.layer, f.kind, f.batch, f.algorithm, f.us AS self_us, s.time_us AS second_us
FROM (SELECT layer, kind, batch, algorithm, min(time_us) AS us FROM first WHERE batch <= :last
      GROUP BY layer, batch ORDER BY rowid) f
LEFT JOIN second s ON s.layer = f.layer AND s.batch = f.batch AND s.algorithm = f.algorithm;
