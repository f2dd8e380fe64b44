/* SPDX-License-Identifier: MIT */
/* Initialisation, errors, devices and their attributes. */
#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_profile.h"

#include <stdio.h>
#include <string.h>

/* The recorder knows a simulated driver by this symbol, and reports of such runs say so. */
__attribute__((visibility("default"))) int vts_is_simulated(void);

int vts_is_simulated(void)
{
	return 1;
}

/* For the stand-in of NCCL, which knows the driver but no card. */
__attribute__((visibility("default"))) uint64_t vts_nccl_bytes(void);

uint64_t vts_nccl_bytes(void)
{
	return vts_profile_get()->nccl_bytes;
}

CUresult cuInit(unsigned int flags)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if (!vts_device_open_all())
		return vts_call_leave(CUDA_ERROR_NO_DEVICE);
	result = vts_call_set_initialised();
	if (!result)
		vts_ledger_open();
	return vts_call_leave(result);
}

CUresult cuDriverGetVersion(int *version)
{
	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (!version)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*version = vts_profile_get()->driver_version;
	return vts_call_leave(CUDA_SUCCESS);
}

/* The private tables of a real driver are never imitated. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (table)
		*table = NULL;
	return vts_call_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!device)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if (!vts_device_at(ordinal))
		return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
	*device = ordinal;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *count)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!count)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*count = vts_device_count();
	return vts_call_leave(CUDA_SUCCESS);
}

/* The check that nearly every function about a device begins with. */
static CUresult check_device(const void *out, CUdevice device)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return vts_device_at(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int capacity, CUdevice device)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = capacity > 0 ? check_device(name, device) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		snprintf(name, (size_t)capacity, "%s", vts_profile_get()->device);
	return vts_call_leave(result);
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
	CUresult result = check_device(uuid, device);

	if (!result)
		vts_device_uuid(vts_device_at(device)->physical, uuid->bytes);
	return result;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(get_uuid(uuid, device));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(get_uuid(uuid, device));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_device(bytes, device);
	if (!result)
		*bytes = vts_profile_get()->total_bytes;
	return vts_call_leave(result);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = minor ? check_device(major, device) : CUDA_ERROR_INVALID_VALUE;
	if (!result) {
		*major = vts_profile_get()->capability / 10;
		*minor = vts_profile_get()->capability % 10;
	}
	return vts_call_leave(result);
}

/* Bus numbers from 1, so that no device looks like "not found". */
CUresult cuDeviceGetPCIBusId(char *text, int capacity, CUdevice device)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = capacity > 0 ? check_device(text, device) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		snprintf(text, (size_t)capacity, "0000:%02x:00.0",
			 vts_device_at(device)->physical + 1);
	return vts_call_leave(result);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
	unsigned int domain, bus, slot;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!device || !text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < vts_device_count(); i++)
		if (vts_device_at(i)->physical + 1 == (int)bus && !domain && !slot) {
			*device = i;
			return vts_call_leave(CUDA_SUCCESS);
		}
	return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult check_pair(const void *out, CUdevice device, CUdevice peer)
{
	CUresult result = check_device(out, device);

	return result ? result : check_device(out, peer);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_pair(can, device, peer);
	if (!result)
		*can = device != peer;
	return vts_call_leave(result);
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer)
{
	enum { PERFORMANCE_RANK = 1, ACCESS_SUPPORTED = 2 };
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_pair(value, device, peer);
	if (!result && device == peer)
		result = CUDA_ERROR_INVALID_DEVICE;
	if (!result)
		*value = attribute == ACCESS_SUPPORTED || attribute == PERFORMANCE_RANK;
	return vts_call_leave(result);
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, int type, CUdevice device)
{
	CUresult result;

	(void)type;
	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_device(supported, device);
	if (!result)
		*supported = 0;
	return vts_call_leave(result);
}
