/* SPDX-License-Identifier: MIT */
#include "simulator/driver_device.h"

#include "simulator/driver_profile.h"
#include "simulator/nvml_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct vts_device devices[VTS_MAX_DEVICES];
	int nr_devices;
} g;

static void add_device(int physical)
{
	g.devices[g.nr_devices++].physical = physical;
}

/*
 * As the real driver: the list ends at the first entry that is no device; names (GPU-...) are not
 * known.
 */
int vts_device_open_all(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int present = vts_profile_get()->nr_devices;
	char *end;

	if (g.nr_devices)
		return g.nr_devices;
	if (!visible) {
		while (g.nr_devices < present)
			add_device(g.nr_devices);
		return g.nr_devices;
	}
	while (*visible && g.nr_devices < VTS_MAX_DEVICES) {
		long physical = strtol(visible, &end, 10);

		if (end == visible || physical < 0 || physical >= present)
			break;
		add_device((int)physical);
		visible = *end == ',' ? end + 1 : end;
	}
	return g.nr_devices;
}

struct vts_device *vts_device_at(CUdevice number)
{
	return number >= 0 && number < g.nr_devices ? &g.devices[number] : NULL;
}

int vts_device_count(void)
{
	return g.nr_devices;
}

CUresult vts_device_charge(CUdevice number, uint64_t size_bytes)
{
	struct vts_device *device = &g.devices[number];
	uint64_t usable = vts_profile_get()->usable_bytes;

	if (size_bytes > usable || device->used_bytes > usable - size_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->used_bytes += size_bytes;
	if (device->used_bytes > device->peak_bytes)
		device->peak_bytes = device->used_bytes;
	return CUDA_SUCCESS;
}

void vts_device_discharge(CUdevice number, uint64_t size_bytes)
{
	g.devices[number].used_bytes -= size_bytes;
}

int vts_device_view(int physical, struct vts_nvml_view *view)
{
	const struct vts_profile *profile = vts_profile_get();

	if (physical < 0 || physical >= profile->nr_devices)
		return -1;
	memset(view, 0, sizeof(*view));
	snprintf(view->name, sizeof(view->name), "%s", profile->device);
	view->nr_devices = profile->nr_devices;
	view->driver_version = profile->driver_version;
	view->bus = physical + 1;
	view->total_bytes = profile->total_bytes;
	for (int i = 0; i < g.nr_devices; i++)
		if (g.devices[i].physical == physical)
			view->used_bytes = g.devices[i].used_bytes;
	return 0;
}
