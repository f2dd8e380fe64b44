/* SPDX-License-Identifier: MIT */
/* NVML's questions about one device. */
#include "simulator/nvml.h"

#include <stdint.h>
#include <stdio.h>

struct memory {
	unsigned long long total, free, used;
};

struct memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

struct process_v1 {
	unsigned int pid;
	unsigned long long used;
};

struct process_v2 {
	unsigned int pid;
	unsigned long long used;
	unsigned int gpu_instance, compute_instance;
};

EXPORT(nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = index ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*index = (unsigned int)(uintptr_t)device - 1;
	return result;
}

EXPORT(nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int capacity))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = text ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		snprintf(text, capacity, "%s", view.name);
	return result;
}

EXPORT(nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned int capacity))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = text ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result && capacity < NVML_UUID_TEXT)
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	if (!result)
		vts_nvml_uuid(&view, text);
	return result;
}

EXPORT(nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor))
{
	struct vts_nvml_view view;
	nvmlReturn_t result =
		major && minor ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result) {
		*major = view.capability / 10;
		*minor = view.capability % 10;
	}
	return result;
}

EXPORT(nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct memory *memory))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = memory ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*memory = (struct memory){ view.total_bytes, view.total_bytes - view.used_bytes,
					   view.used_bytes };
	return result;
}

EXPORT(nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct memory_v2 *memory))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = memory ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result) {
		memory->total = view.total_bytes;
		memory->reserved = 0;
		memory->used = view.used_bytes;
		memory->free = view.total_bytes - view.used_bytes;
	}
	return result;
}

/* *nr is the room on entry and the number on return. */
static nvmlReturn_t processes(nvmlDevice_t device, unsigned int *nr, struct vts_nvml_view *view)
{
	unsigned int room = nr ? *nr : 0;
	nvmlReturn_t result = nr ? vts_nvml_look(device, view) : NVML_ERROR_INVALID_ARGUMENT;

	if (result)
		return result;
	*nr = view->nr_processes;
	return room < *nr ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *nr,
					    struct process_v1 *list))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = processes(device, nr, &view);

	for (unsigned int i = 0; !result && list && i < *nr; i++)
		list[i] = (struct process_v1){ view.processes[i].pid,
					       view.processes[i].used_bytes };
	return result;
}

static nvmlReturn_t processes_v2(nvmlDevice_t device, unsigned int *nr, struct process_v2 *list)
{
	struct vts_nvml_view view;
	nvmlReturn_t result = processes(device, nr, &view);

	/* No partitions: both instance numbers are "none". */
	for (unsigned int i = 0; !result && list && i < *nr; i++)
		list[i] = (struct process_v2){ view.processes[i].pid, view.processes[i].used_bytes,
					       ~0u, ~0u };
	return result;
}

EXPORT(nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *nr,
					       struct process_v2 *list))
{
	return processes_v2(device, nr, list);
}

EXPORT(nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *nr,
					       struct process_v2 *list))
{
	return processes_v2(device, nr, list);
}

/* Without NVLink (below) no peer is reached by it; over PCIe each one is, as the driver says. */
EXPORT(nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, int index, int *status))
{
	enum { NVLINK = 2 };              /* of nvmlGpuP2PCapsIndex_t: read, write, nvlink, ... */
	enum { OK = 0, UNSUPPORTED = 5 }; /* of nvmlGpuP2PStatus_t */
	struct vts_nvml_view view;
	nvmlReturn_t result = status ? vts_nvml_look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		result = vts_nvml_look(peer, &view);
	if (!result)
		*status = index == NVLINK ? UNSUPPORTED : OK;
	return result;
}

/* No NVLink and no fabric: programs then do without. */
EXPORT(nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, void *info))
{
	(void)device, (void)info;
	return NVML_ERROR_NOT_SUPPORTED;
}

EXPORT(nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, void *info))
{
	(void)device, (void)info;
	return NVML_ERROR_NOT_SUPPORTED;
}

EXPORT(nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, void *type))
{
	(void)device, (void)link, (void)type;
	return NVML_ERROR_NOT_SUPPORTED;
}

EXPORT(nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, void *info))
{
	(void)device, (void)link, (void)info;
	return NVML_ERROR_NOT_SUPPORTED;
}
