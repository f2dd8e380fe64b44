/* SPDX-License-Identifier: MIT */
/*
 * libnvidia-ml.so.1: the few functions that CUDA programs ask for (PyTorch's out-of-memory text,
 * its expandable segments, serving engines when they choose their kernels) and vtrace's collector,
 * fed by the simulated driver: of the same process, or of all processes of one simulation
 * (driver_share.h).  Here: the library, its errors, finding a device.
 */
#include "simulator/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
	vts_nvml_view_fn view;
	int nr_inits;
} g;

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

nvmlReturn_t vts_nvml_look(nvmlDevice_t device, struct vts_nvml_view *view)
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
	nvmlReturn_t result = device ? vts_nvml_look(wanted, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		*device = wanted;
	return result;
}

static nvmlReturn_t count(unsigned int *nr)
{
	nvmlDevice_t first = (nvmlDevice_t)(uintptr_t)1;
	struct vts_nvml_view view;
	nvmlReturn_t result = nr ? vts_nvml_look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

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
	nvmlReturn_t result = text ? vts_nvml_look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

	if (!result)
		snprintf(text, capacity, "%d.00", view.driver_version >= 13000 ? 580 :
						  view.driver_version >= 12000 ? 550 : 470);
	return result;
}

static nvmlReturn_t cuda_version(int *version)
{
	nvmlDevice_t first = (nvmlDevice_t)(uintptr_t)1;
	struct vts_nvml_view view;
	nvmlReturn_t result = version ? vts_nvml_look(first, &view) : NVML_ERROR_INVALID_ARGUMENT;

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

void vts_nvml_uuid(const struct vts_nvml_view *view, char *text)
{
	size_t len = (size_t)snprintf(text, NVML_UUID_TEXT, "GPU-");

	for (size_t i = 0; i < sizeof(view->uuid); i++)
		len += (size_t)snprintf(text + len, NVML_UUID_TEXT - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					(unsigned char)view->uuid[i]);
}

EXPORT(nvmlDeviceGetHandleByUUID(const char *text, nvmlDevice_t *device))
{
	struct vts_nvml_view view;
	char uuid[NVML_UUID_TEXT];

	if (!text || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; by_index(i, device) == NVML_SUCCESS; i++) {
		if (vts_nvml_look(*device, &view))
			break;
		vts_nvml_uuid(&view, uuid);
		if (!strcmp(uuid, text))
			return NVML_SUCCESS;
	}
	return g.nr_inits ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}
