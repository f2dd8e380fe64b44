-- SPDX-License-Identifier: MIT
-- Ranks that ended otherwise than well, the first one first by the wall clocks of their hosts.
SELECT rank, host, ended, out_of_memory, start_realtime_ns + duration_ns AS end_realtime_ns
FROM figures
WHERE died = 1
ORDER BY end_realtime_ns, rank
