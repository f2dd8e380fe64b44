/* SPDX-License-Identifier: MIT */
/*
 * libnvidia-ml.so.1: the few functions that CUDA programs ask for (PyTorch's out-of-memory text,
 * its expandable segments) and vtrace's collector, fed by the simulated driver: of the same
 * process, or of all processes of one simulation (driver_share.h).
 */
#include "simulator/nvml_view.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t; /* here: physical index + 1 */

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

static struct {
	vts_nvml_view_fn view;
	int nr_inits;
} g;

#define EXPORT(...)                                                                                \
	__attribute__((visibility("default"))) nvmlReturn_t __VA_ARGS__;                           \
	nvmlReturn_t __VA_ARGS__

/* The driver lies beside this library; when it is loaded already, this is that one. */
static vts_nvml_view_fn find_driver(void)
{
	char path[PATH_MAX];
	Dl_info self;
	char *slash;
	void *driver;

	if (!dladdr((void *)(uintptr_t)find_driver, &self) || !self.dli_fname)
		return NULL;
	snprintf(path, sizeof(path), "%s", self.dli_fname);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 16, "libcuda.so.1");
	driver = dlopen(path, RTLD_NOW);
	return driver ? (vts_nvml_view_fn)(uintptr_t)dlsym(driver, "vts_device_view") : NULL;
}

static nvmlReturn_t init(void)
{
	struct vts_nvml_view view;

	if (!g.view)
		g.view = find_driver();
	if (!g.view || g.view(0, &view))
		return NVML_ERROR_DRIVER_NOT_LOADED;
	g.nr_inits++;
	return NVML_SUCCESS;
}

static nvmlReturn_t look(nvmlDevice_t device, struct vts_nvml_view *view)
{
	if (!g.nr_inits)
		return NVML_ERROR_UNINITIALIZED;
	return g.view((int)(uintptr_t)device - 1, view) ? NVML_ERROR_INVALID_ARGUMENT :
							  NVML_SUCCESS;
}

static nvmlReturn_t by_index(unsigned int index, nvmlDevice_t *device)
{
	nvmlDevice_t wanted = (nvmlDevice_t)((uintptr_t)index + 1);
	struct vts_nvml_view view;
	nvmlReturn_t result = device ? look(wanted, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*device = wanted;
	return result;
}

static nvmlReturn_t count(unsigned int *nr)
{
	nvmlDevice_t first = (nvmlDevice_t)(uintptr_t)1;
	struct vts_nvml_view view;
	nvmlReturn_t result = nr ? look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*nr = (unsigned int)view.nr_devices;
	return result;
}

static nvmlReturn_t by_bus(const char *text, nvmlDevice_t *device)
{
	unsigned int domain, bus, slot;

	if (!text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (domain || slot || !bus)
		return NVML_ERROR_NOT_FOUND;
	return by_index(bus - 1, device) ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

EXPORT(nvmlInit_v2(void))
{
	return init();
}

EXPORT(nvmlInit(void))
{
	return init();
}

EXPORT(nvmlInitWithFlags(unsigned int flags))
{
	(void)flags;
	return init();
}

EXPORT(nvmlShutdown(void))
{
	if (!g.nr_inits)
		return NVML_ERROR_UNINITIALIZED;
	g.nr_inits--;
	return NVML_SUCCESS;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	default:
		return "Unknown Error";
	}
}

/*
 * 580.x is the driver of CUDA 13.0, 550.x that of 12.4, and so on: only the major number is told.
 */
EXPORT(nvmlSystemGetDriverVersion(char *text, unsigned int capacity))
{
	nvmlDevice_t first = (nvmlDevice_t)(uintptr_t)1;
	struct vts_nvml_view view;
	nvmlReturn_t result = text ? look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		snprintf(text, capacity, "%d.00", view.driver_version >= 13000 ? 580 :
						  view.driver_version >= 12000 ? 550 : 470);
	return result;
}

static nvmlReturn_t cuda_version(int *version)
{
	nvmlDevice_t first = (nvmlDevice_t)(uintptr_t)1;
	struct vts_nvml_view view;
	nvmlReturn_t result = version ? look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*version = view.driver_version;
	return result;
}

EXPORT(nvmlSystemGetCudaDriverVersion(int *version))
{
	return cuda_version(version);
}

EXPORT(nvmlSystemGetCudaDriverVersion_v2(int *version))
{
	return cuda_version(version);
}

EXPORT(nvmlDeviceGetCount(unsigned int *nr))
{
	return count(nr);
}

EXPORT(nvmlDeviceGetCount_v2(unsigned int *nr))
{
	return count(nr);
}

EXPORT(nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device))
{
	return by_index(index, device);
}

EXPORT(nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device))
{
	return by_index(index, device);
}

EXPORT(nvmlDeviceGetHandleByPciBusId(const char *text, nvmlDevice_t *device))
{
	return by_bus(text, device);
}

EXPORT(nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvmlDevice_t *device))
{
	return by_bus(text, device);
}

/* "GPU-" and 32 hexadecimal digits in groups. */
EXPORT(nvmlDeviceGetHandleByUUID(const char *text, nvmlDevice_t *device))
{
	struct vts_nvml_view view;

	if (!text || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; by_index(i, device) == NVML_SUCCESS; i++) {
		char uuid[64] = "GPU-";
		size_t len = strlen(uuid);

		if (look(*device, &view))
			break;
		for (size_t k = 0; k < sizeof(view.uuid); k++)
			len += (size_t)snprintf(uuid + len, sizeof(uuid) - len, "%s%02x",
						k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
						(unsigned char)view.uuid[k]);
		if (!strcmp(uuid, text))
			return NVML_SUCCESS;
	}
	return g.nr_inits ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}

EXPORT(nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = index ? look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*index = (unsigned int)(uintptr_t)device - 1;
	return result;
}

EXPORT(nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int capacity))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = text ? look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		snprintf(text, capacity, "%s", view.name);
	return result;
}

EXPORT(nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct memory *memory))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = memory ? look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*memory = (struct memory){ view.total_bytes, view.total_bytes - view.used_bytes,
					   view.used_bytes };
	return result;
}

EXPORT(nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct memory_v2 *memory))
{
	struct vts_nvml_view view;
	nvmlReturn_t result = memory ? look(device, &view) : NVML_ERROR_INVALID_ARGUMENT;

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
	nvmlReturn_t result = nr ? look(device, view) : NVML_ERROR_INVALID_ARGUMENT;

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
