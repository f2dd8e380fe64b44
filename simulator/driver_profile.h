/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_PROFILE_H
#define VTS_DRIVER_PROFILE_H

/*
 * Which card is simulated: VTRACE_SIM_PROFILE="NAME[,memory=24GiB][,count=2][,driver=12.4]
 * [,other=3GiB][,module=8MiB]" over profiles.ini, which lies beside this library.  Read once,
 * before the first answer.
 */

#include <stdint.h>

#define VTS_MAX_DEVICES 8

struct vts_profile {
	char name[64];	 /* as in profiles.ini: h100-80g */
	char device[96]; /* what cuDeviceGetName says */
	uint64_t total_bytes;
	uint64_t usable_bytes; /* what programs and contexts can take together */
	uint64_t context_bytes;
	uint64_t other_bytes; /* of each device, taken by processes that are not simulated */
	uint64_t module_bytes; /* that each loaded module adds to the context */
	uint64_t l2_bytes;
	uint64_t shared_per_block_optin_bytes;
	uint64_t shared_per_sm_bytes;
	int capability; /* 90: 9.0 */
	int nr_sms;
	int max_threads_per_sm;
	int max_blocks_per_sm;
	int clock_khz;
	int memory_clock_khz;
	int memory_bus_bits;
	int driver_version; /* 13000: CUDA 13.0 */
	int nr_devices;
};

/*
 * Never NULL.  An unknown name or a bad option is reported on stderr once; the simulator then goes
 * on with no device at all (nr_devices 0), so that a wrong name never yields figures of another
 * card.
 */
const struct vts_profile *vts_profile_get(void);

#endif
