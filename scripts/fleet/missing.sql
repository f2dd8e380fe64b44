-- SPDX-License-Identifier: MIT
-- Ranks of the world that left no recording, as ranges.
WITH neighbours AS (
	SELECT rank, lead(rank, 1, world_size) OVER (ORDER BY rank) AS following FROM figures
	UNION ALL
	SELECT -1 AS rank, min(rank) AS following FROM figures
)
SELECT rank + 1 AS first_rank, following - 1 AS last_rank
FROM neighbours
WHERE following > rank + 1
ORDER BY first_rank
