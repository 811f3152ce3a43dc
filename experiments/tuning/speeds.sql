-- Images a second of every turn, and ratios within a turn; then their medians.
CREATE VIEW turns AS
SELECT again.turn, again.network, again.memory,
    CASE WHEN again.memory LIKE '%MiB' THEN 1024.0 ELSE 1.0 END * CAST(again.memory AS REAL) AS kib,
    whole.samples_per_s AS whole, again.samples_per_s AS again, kept.samples_per_s AS kept
FROM times again JOIN times whole ON whole.network = 'whole' AND whole.memory = again.memory AND whole.turn = again.turn
JOIN times kept ON kept.network = again.network AND kept.plan = 'kept' AND kept.memory = again.memory AND kept.turn = again.turn
WHERE again.plan = 'again' AND again.network <> 'whole';
CREATE TABLE shares(turn, network, memory, kib, what, value);
INSERT INTO shares SELECT turn, network, memory, kib, 'whole', whole FROM turns;
INSERT INTO shares SELECT turn, network, memory, kib, 'again', again FROM turns;
INSERT INTO shares SELECT turn, network, memory, kib, 'kept', kept FROM turns;
INSERT INTO shares SELECT turn, network, memory, kib, 'over_whole', again / whole FROM turns;
INSERT INTO shares SELECT turn, network, memory, kib, 'over_kept', again / kept FROM turns;
CREATE VIEW medians AS
SELECT network, memory, kib, what, avg(value) AS value FROM (
    SELECT *, row_number() OVER (PARTITION BY network, memory, what ORDER BY value) AS place,
        count(*) OVER (PARTITION BY network, memory, what) AS n FROM shares)
WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY network, memory, what;
CREATE TABLE beside AS
SELECT network, memory, kib, max(value) FILTER (WHERE what = 'whole') AS whole, max(value) FILTER (WHERE what = 'again') AS again,
    max(value) FILTER (WHERE what = 'kept') AS kept, max(value) FILTER (WHERE what = 'over_whole') AS over_whole,
    max(value) FILTER (WHERE what = 'over_kept') AS over_kept
FROM medians GROUP BY network, memory;
