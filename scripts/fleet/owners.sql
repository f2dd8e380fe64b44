-- SPDX-License-Identifier: MIT
-- Per owner over the ranks, at the event that the figures are of: least, mean, most, how far the most is above the mean, and where.
-- An owner that a rank has not counts as 0 bytes there.
WITH live AS (
	SELECT a.rank, a.owner, sum(a.size_bytes) AS bytes
	FROM allocation a JOIN figures f ON f.rank = a.rank AND f.device = a.device
	WHERE a.is_owned = 1 AND a.event <= f.at_event AND (a.freed_event IS NULL OR a.freed_event > f.at_event)
	GROUP BY a.rank, a.owner
	UNION ALL
	SELECT rank, owner, bytes FROM rest WHERE bytes > 0
), every_pair AS (
	SELECT f.rank, o.owner, coalesce(l.bytes, 0) AS bytes
	FROM figures f CROSS JOIN (SELECT DISTINCT owner FROM live) o LEFT JOIN live l ON l.rank = f.rank AND l.owner = o.owner
), extremes AS (
	SELECT rank, owner, bytes, min(bytes) OVER (PARTITION BY owner) AS least, max(bytes) OVER (PARTITION BY owner) AS most
	FROM every_pair
)
SELECT owner, CAST(least AS BIGINT) AS min_bytes, CAST(floor(sum(bytes) / count(*)) AS BIGINT) AS mean_bytes,
	CAST(most AS BIGINT) AS max_bytes, round(CAST(most AS DOUBLE) / (sum(bytes) / count(*)) - 1, 5) AS imbalance,
	min(CASE WHEN bytes = least THEN rank END) AS min_rank, min(CASE WHEN bytes = most THEN rank END) AS max_rank
FROM extremes
GROUP BY owner, least, most
ORDER BY max_bytes DESC, owner
