-- SPDX-License-Identifier: MIT
-- The rank with the highest device use and the median one (of two the lower).
WITH placed AS (
	SELECT rank, row_number() OVER (ORDER BY process_used_bytes, allocated_bytes, rank DESC) AS place, count(*) OVER () AS nr
	FROM figures
)
SELECT max(CASE WHEN place = nr THEN rank END) AS peak_rank,
	max(CASE WHEN place = floor((nr - 1) / 2) + 1 THEN rank END) AS median_rank
FROM placed
