-- SPDX-License-Identifier: MIT
-- The lines whose bytes differ most between ranks, at the event that the figures are of.
WITH live AS (
	SELECT a.rank, a.place, sum(a.size_bytes) AS bytes
	FROM allocation a JOIN figures f ON f.rank = a.rank AND f.device = a.device
	WHERE a.is_owned = 1 AND a.event <= f.at_event AND (a.freed_event IS NULL OR a.freed_event > f.at_event)
	GROUP BY a.rank, a.place
), every_pair AS (
	SELECT f.rank, p.place, coalesce(l.bytes, 0) AS bytes
	FROM figures f CROSS JOIN (SELECT DISTINCT place FROM live) p LEFT JOIN live l ON l.rank = f.rank AND l.place = p.place
)
SELECT place, CAST(min(bytes) AS BIGINT) AS min_bytes, CAST(max(bytes) AS BIGINT) AS max_bytes
FROM every_pair
GROUP BY place
ORDER BY max_bytes - min_bytes DESC, place
LIMIT 20
