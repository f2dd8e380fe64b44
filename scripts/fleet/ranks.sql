-- SPDX-License-Identifier: MIT
-- Each rank's highest device use, the most that it allocated, how it ended.
SELECT rank, host, device, process_used_bytes, allocated_bytes, steps, growth_bytes, ended
FROM figures
ORDER BY process_used_bytes DESC, rank
