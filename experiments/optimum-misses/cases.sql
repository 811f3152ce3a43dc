-- What tests/bench/misses has written, one row for each network and planner: its time, NULL without a
-- plan, and the optimum. Times are whole numbers.
CREATE TABLE planners AS SELECT column1 AS place, column2 AS planner
FROM (VALUES (1, 'fbs'), (2, 'fbs-best'), (3, 'greedy-vbs'), (4, 'dp-monotone'), (5, 'dp-vbs'),
             (6, 'dp-vbs+'));
CREATE TABLE cases AS SELECT misses.rowid AS n, graph, times, planners.place, planner,
    CASE place WHEN 1 THEN fbs WHEN 2 THEN "fbs-best" WHEN 3 THEN "greedy-vbs"
    WHEN 4 THEN "dp-monotone" WHEN 5 THEN "dp-vbs" ELSE "dp-vbs+" END AS us, optimal
FROM misses, planners;
