/* SPDX-License-Identifier: MIT */
#include "simulator/driver_device.h"

#include "simulator/driver_profile.h"
#include "simulator/driver_share.h"
#include "simulator/nvml_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	struct vts_device devices[VT_CARD_MAX_DEVICES];
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
	vts_share_open();
	if (!visible) {
		while (g.nr_devices < present)
			add_device(g.nr_devices);
		return g.nr_devices;
	}
	while (*visible && g.nr_devices < VT_CARD_MAX_DEVICES) {
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

uint64_t vts_device_free_bytes(CUdevice number)
{
	const struct vt_card_profile *profile = vts_profile_get();
	const struct vts_device *device = &g.devices[number];
	uint64_t taken = device->used_bytes + profile->other_bytes +
			 vts_share_others(device->physical);

	return taken < profile->usable_bytes ? profile->usable_bytes - taken : 0;
}

CUresult vts_device_charge(CUdevice number, uint64_t size_bytes)
{
	struct vts_device *device = &g.devices[number];

	if (size_bytes > vts_device_free_bytes(number))
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->used_bytes += size_bytes;
	if (device->used_bytes > device->peak_bytes)
		device->peak_bytes = device->used_bytes;
	vts_share_set(device->physical, device->used_bytes);
	return CUDA_SUCCESS;
}

void vts_device_discharge(CUdevice number, uint64_t size_bytes)
{
	g.devices[number].used_bytes -= size_bytes;
	vts_share_set(g.devices[number].physical, g.devices[number].used_bytes);
}

void vts_device_uuid(int physical, char *bytes)
{
	memset(bytes, 0, VTS_UUID_BYTES);
	memcpy(bytes, "vtrace-simulat", 14);
	bytes[VTS_UUID_BYTES - 1] = (char)physical;
}

/* Of this process alone, where nothing is shared. */
static void list_self(struct vts_nvml_view *view, int physical)
{
	for (int i = 0; i < g.nr_devices; i++)
		if (g.devices[i].physical == physical && g.devices[i].used_bytes) {
			view->processes[0].pid = (uint32_t)getpid();
			view->processes[0].used_bytes = g.devices[i].used_bytes;
			view->nr_processes = 1;
		}
}

int vts_device_view(int physical, struct vts_nvml_view *view)
{
	const struct vt_card_profile *profile = vts_profile_get();

	if (physical < 0 || physical >= profile->nr_devices)
		return -1;
	memset(view, 0, sizeof(*view));
	snprintf(view->name, sizeof(view->name), "%s", profile->device);
	vts_device_uuid(physical, view->uuid);
	view->nr_devices = profile->nr_devices;
	view->driver_version = profile->driver_version;
	view->capability = profile->capability;
	view->bus = physical + 1;
	view->total_bytes = profile->total_bytes;
	view->nr_processes = vts_share_list(physical, view->processes, VTS_NVML_PROCESSES);
	if (!view->nr_processes)
		list_self(view, physical);
	if (view->nr_processes > VTS_NVML_PROCESSES)
		view->nr_processes = VTS_NVML_PROCESSES;
	view->used_bytes = profile->other_bytes;
	for (unsigned int i = 0; i < view->nr_processes; i++)
		view->used_bytes += view->processes[i].used_bytes;
	return 0;
}
