-- COMP's way through a request of :images in :memory, from the `frontiers` of the requests up to it:
-- the number of images with the least time an image, as often as it goes, then the same for what is
-- left. A request that falls into chunks takes no less time an image than its best chunk, so that the
-- smallest request with the least time an image is one chunk. The table chunks: how often, how many
-- images, and the time of one such chunk.
CREATE TABLE rates AS SELECT request, min(time_us) AS us, min(time_us) / request AS rate
FROM frontiers WHERE memory_bytes <= :memory GROUP BY request;
CREATE TABLE best AS SELECT n.request AS images, (SELECT min(r.request) FROM rates r
    WHERE r.request <= n.request AND r.rate <= (1 + 1e-9) *
        (SELECT min(m.rate) FROM rates m WHERE m.request <= n.request)) AS chunk
FROM (SELECT DISTINCT request FROM frontiers) n;
CREATE TABLE chunks AS
WITH RECURSIVE rest(n, images) AS (SELECT 1, :images UNION ALL
    SELECT n + 1, rest.images % chunk FROM rest JOIN best USING (images))
SELECT n, rest.images / chunk AS repeats, chunk AS images, us
FROM rest JOIN best USING (images) JOIN rates ON rates.request = chunk ORDER BY n;
