/* SPDX-License-Identifier: MIT */
/*
 * What happens in every process that loads the library, most of which never use a GPU: as little as
 * possible. No thread, file, mapping or message; the recording opens at the first allocation
 * (session.h).
 */
#include "preload/at_exit.h"
#include "preload/nvtx_announce.h"
#include "preload/real.h"

__attribute__((constructor)) static void start(void)
{
	/* While the current directory is still the one that a relative LD_PRELOAD means. */
	vt_real_own_path();
	vt_nvtx_announce();
	vt_at_exit_register();
}
