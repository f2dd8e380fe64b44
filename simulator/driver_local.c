/* SPDX-License-Identifier: MIT */
#include "simulator/driver_local.h"

#include "simulator/driver_device.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_resident.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_size.h"

#define GRANULE (2 * VTS_MIB)

/* Beyond what is part of the context. */
static uint64_t bytes_of(uint64_t bytes_per_thread)
{
	const struct vt_card_profile *profile = vts_profile_get();
	uint64_t threads = (uint64_t)profile->nr_sms * (uint64_t)profile->max_threads_per_sm;

	if (bytes_per_thread <= VTS_LOCAL_FIRST_LIMIT)
		return 0;
	return vts_size_round_up((bytes_per_thread - VTS_LOCAL_FIRST_LIMIT) * threads, GRANULE);
}

static CUresult resize(struct vts_device *device, CUdevice number, uint64_t size_bytes)
{
	struct vts_resident resident = { "local", device->local_bytes, number };
	CUresult result;

	vts_resident_unload(&resident);
	result = vts_resident_load(&resident, "local", size_bytes);
	if (result)
		vts_resident_load(&resident, "local", device->local_bytes);
	else
		device->local_bytes = size_bytes;
	return result;
}

CUresult vts_local_resize(uint64_t bytes_per_thread)
{
	CUdevice number = vts_scope_context()->device;
	struct vts_device *device = vts_device_at(number);
	uint64_t size_bytes = bytes_of(bytes_per_thread);

	return size_bytes == device->local_bytes ? CUDA_SUCCESS :
						   resize(device, number, size_bytes);
}

CUresult vts_local_reserve(uint64_t bytes_per_thread)
{
	struct vts_device *device = vts_device_at(vts_scope_context()->device);

	return bytes_of(bytes_per_thread) <= device->local_bytes ?
		       CUDA_SUCCESS :
		       vts_local_resize(bytes_per_thread);
}
