-- SPDX-License-Identifier: MIT
-- Bytes that stay allocated per training step, the most first.
SELECT rank, host, steps, growth_bytes
FROM figures
WHERE growth_bytes IS NOT NULL
ORDER BY growth_bytes DESC, rank
