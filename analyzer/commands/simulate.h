/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SIMULATE_H
#define VT_ANALYZER_SIMULATE_H

/*
 * What `vtrace run --simulate PROFILE` must set so that a program meets the simulated device
 * instead of NVIDIA's driver (the contract is in simulator/libraries/README.md).
 */

#include "analyzer/base/diag.h"

struct vt_simulate {
	char *folder; /* of the simulator's libraries */
	char *stubs;  /* folder of stubs for the command's Python; "" where none are needed */
	char *shared; /* file over which the processes share the devices; NULL: none made */
};

/*
 * Checks "NAME[,memory=24GiB][,count=2][,driver=12.4][,other=3GiB][,module=8MiB]" against
 * profiles.ini and finds or makes the stubs for the Python that runs `command_path`.  0, or -1 with
 * `diag` filled; an unknown name lists the known ones.
 */
int vt_simulate_prepare(struct vt_simulate *simulate, const char *profile, const char *command_path,
			struct vt_diag *diag);
/* After the program has ended. */
void vt_simulate_release(struct vt_simulate *simulate);

/* The check alone, on the text of a profiles.ini. */
int vt_simulate_check(const char *profile, const char *ini, struct vt_diag *diag);

/*
 * Sets the environment of this process for the program to come; LD_PRELOAD is prepended to.
 * Returns 0, or -1 with `diag` filled where the loader accepts none of the simulator's names.
 */
int vt_simulate_set_environment(struct vt_simulate *simulate, const char *profile,
				struct vt_diag *diag);

#endif
