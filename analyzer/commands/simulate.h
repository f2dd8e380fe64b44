/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SIMULATE_H
#define VT_ANALYZER_SIMULATE_H

/*
 * What `vtrace run --simulate PROFILE` must set so that a program meets the simulated device
 * instead of NVIDIA's driver (the contract is in simulator/libraries/README.md).
 */

#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/commands/shared_devices.h"

struct vt_simulate {
	char *folder; /* of the simulator's libraries */
	char *stubs;  /* folder of stubs for the command's Python; "" where none are needed */
	char *card;   /* as the driver reads it: the path of a file is absolute */
	struct vt_shared_devices shared;
	char *routing; /* of tokens to experts; "": not chosen */
	int rank, nr_ranks; /* the program is one rank of a job; 0 ranks: it is not */
};

/*
 * Checks "NAME[,key=value...]" or "FILE.ini[,key=value...]" and finds or makes the stubs for the
 * Python that runs `command_path`.  0, or -1 with `diag` filled.
 */
int vt_simulate_prepare(struct vt_simulate *simulate, const char *profile, const char *command_path,
			struct vt_diag *diag);
/* After the program has ended. */
void vt_simulate_release(struct vt_simulate *simulate);

/* The cards that can be named, as a table. */
void vt_simulate_list(FILE *out);

/*
 * Sets the environment of this process for the program to come; LD_PRELOAD is prepended to.
 * Returns 0, or -1 with `diag` filled where the loader accepts none of the simulator's names.
 */
int vt_simulate_set_environment(struct vt_simulate *simulate, struct vt_diag *diag);

#endif
