/* SPDX-License-Identifier: MIT */
/* cuDeviceGetAttribute: what varies comes from the profile, what does not from one table. */
#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_profile.h"

#define NR_ATTRIBUTES 148 /* numbers known in CUDA 13.0 */

/*
 * Attribute number -> value where all cards of the profiles agree: limits of the CUDA programming
 * guide's table of compute capabilities 7.5 to 9.0.  Absent numbers answer 0.
 */
static const int CONSTANT[NR_ATTRIBUTES] = {
	[1] = 1024,					     /* threads per block */
	[2] = 1024, [3] = 1024, [4] = 64,		     /* block dimensions */
	[5] = 2147483647, [6] = 65535, [7] = 65535,	     /* grid dimensions */
	[8] = 49152,					     /* shared memory per block */
	[9] = 65536,					     /* constant memory */
	[10] = 32,					     /* warp */
	[11] = 2147483647,				     /* pitch */
	[12] = 65536,					     /* registers per block */
	[14] = 512,					     /* texture alignment */
	[15] = 1,					     /* copies overlap kernels */
	[19] = 1,					     /* maps host memory */
	[21] = 131072, [22] = 131072, [23] = 65536,	     /* textures */
	[24] = 16384, [25] = 16384, [26] = 16384,
	[27] = 32768, [28] = 32768, [29] = 2048,
	[30] = 512,					     /* surface alignment */
	[31] = 1,					     /* concurrent kernels */
	[32] = 1,					     /* ECC */
	[40] = 3,					     /* copy engines */
	[41] = 1,					     /* unified addressing */
	[42] = 32768, [43] = 2048,
	[45] = 32768, [46] = 32768,
	[47] = 8192, [48] = 8192, [49] = 32768,
	[51] = 32,					     /* texture pitch alignment */
	[52] = 32768, [53] = 32768, [54] = 2046,
	[55] = 32768, [56] = 131072, [57] = 65536,
	[58] = 16384, [59] = 16384, [60] = 16384,
	[61] = 32768, [62] = 2048, [63] = 32768, [64] = 32768, [65] = 2048,
	[66] = 32768, [67] = 32768, [68] = 2046,
	[69] = 268435456, [70] = 131072, [71] = 65000, [72] = 2097120,
	[73] = 32768, [74] = 32768, [77] = 32768,
	[78] = 1,					     /* stream priorities */
	[79] = 1, [80] = 1,				     /* L1 caches */
	[82] = 65536,					     /* registers per SM */
	[83] = 1,					     /* managed memory */
	[87] = 2,					     /* single to double ratio */
	[89] = 1, [90] = 1, [91] = 1,
	[93] = 1, [94] = 1,				     /* stream memory operations */
	[95] = 1,					     /* cooperative launch */
	[99] = 1,					     /* host registration */
	[102] = 1,					     /* virtual memory management */
	[111] = 1024,					     /* reserved shared memory */
	[113] = 1,
	[115] = 1,					     /* memory pools */
	[122] = 1, [123] = 1,
	[126] = 1, [129] = 1,
	[131] = -1, [134] = -1,				     /* no NUMA node */
};

static int from_profile(int attribute, CUdevice device, int *value)
{
	const struct vt_card_profile *profile = vts_profile_get();
	const int hopper = profile->capability >= 90;

	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = profile->clock_khz;
		return 1;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = profile->nr_sms;
		return 1;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = vts_device_at(device)->physical + 1;
		return 1;
	case 36: /* memory clock */
		*value = profile->memory_clock_khz;
		return 1;
	case 37: /* memory bus width */
		*value = profile->memory_bus_bits;
		return 1;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*value = (int)profile->l2_bytes;
		return 1;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*value = profile->max_threads_per_sm;
		return 1;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = profile->capability / 10;
		return 1;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = profile->capability % 10;
		return 1;
	case 81: /* shared memory per SM */
		*value = (int)profile->shared_per_sm_bytes;
		return 1;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*value = (int)profile->shared_per_block_optin_bytes;
		return 1;
	case 106: /* blocks per SM */
		*value = profile->max_blocks_per_sm;
		return 1;
	case 120: /* cluster launch */
	case 127: /* tensor maps */
		*value = hopper;
		return 1;
	}
	return 0;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!value || (int)attribute < 1 || (int)attribute >= NR_ATTRIBUTES)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if (!vts_device_at(device))
		return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!from_profile((int)attribute, device, value))
		*value = CONSTANT[attribute];
	return vts_call_leave(CUDA_SUCCESS);
}
