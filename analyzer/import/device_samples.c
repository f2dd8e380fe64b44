/* SPDX-License-Identifier: MIT */
#include "analyzer/import/device_samples.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/util.h"
#include "analyzer/import/nvml.h"

/* A list of processes costs some 100 us of a kernel lock: often while things move, else seldom. */
#define SHORTEST_INTERVAL_NS 50000000ull
#define LONGEST_INTERVAL_NS  1000000000ull

struct device {
	int id;
	struct vt_nvml_device *handle; /* NULL: NVML does not know it */
	struct vt_nvml_use last;
	int has_last;
	int is_settled; /* seen twice, as written */
};

struct vt_device_samples {
	struct vt_db *db;
	struct vt_nvml *nvml; /* opened once the recording has a device */
	int has_tried;
	VT_VECTOR(struct device) devices;
	uint32_t pid;
	uint64_t next_ns;
	uint64_t interval_ns;
};

struct vt_device_samples *vt_device_samples_open(struct vt_db *db, uint32_t pid)
{
	struct vt_device_samples *samples = vt_xcalloc(1, sizeof(*samples));

	samples->db = db;
	samples->pid = pid;
	samples->interval_ns = SHORTEST_INTERVAL_NS;
	return samples;
}

void vt_device_samples_close(struct vt_device_samples *samples)
{
	if (!samples)
		return;
	vt_nvml_close(samples->nvml);
	vt_vector_release(&samples->devices);
	free(samples);
}

static int is_known(const struct vt_device_samples *samples, int id)
{
	for (size_t i = 0; i < samples->devices.len; i++)
		if (samples->devices.items[i].id == id)
			return 1;
	return 0;
}

static void add_device(struct vt_device_samples *samples, int id, const char *uuid)
{
	struct device device = { .id = id };

	if (!samples->has_tried) {
		samples->has_tried = 1;
		samples->nvml = vt_nvml_open();
	}
	if (samples->nvml)
		device.handle = vt_nvml_find(samples->nvml, uuid);
	vt_vector_push(&samples->devices, device);
}

static void find_devices(struct vt_device_samples *samples)
{
	struct vt_stmt *stmt = vt_db_prepare(samples->db,
					     "SELECT cast(substr(key, 6) AS INTEGER), value"
					     " FROM run WHERE key GLOB 'uuid:*'");

	while (vt_stmt_step(stmt) == 1) {
		int id = (int)vt_stmt_int(stmt, 0);

		if (!is_known(samples, id))
			add_device(samples, id, vt_stmt_text(stmt, 1));
	}
	vt_stmt_free(stmt);
}

static void write_row(struct vt_device_samples *samples, const struct device *device,
		      uint64_t time_ns)
{
	struct vt_stmt *stmt =
		vt_db_prepare(samples->db, "INSERT INTO device_sample VALUES (?, ?, ?, ?)");

	vt_stmt_bind_int(stmt, 1, (int64_t)time_ns);
	vt_stmt_bind_int(stmt, 2, device->id);
	vt_stmt_bind_int(stmt, 3, (int64_t)device->last.total_used_bytes);
	if (device->last.has_process)
		vt_stmt_bind_int(stmt, 4, (int64_t)device->last.process_used_bytes);
	vt_stmt_step(stmt);
	vt_stmt_free(stmt);
}

/* Returns whether there was something new. */
static int look(struct vt_device_samples *samples, struct device *device)
{
	struct vt_nvml_use use;
	uint64_t time_ns;

	if (!device->handle || vt_nvml_look(samples->nvml, device->handle, samples->pid, &use))
		return 0;
	time_ns = vt_clock_ns();
	if (device->has_last && !memcmp(&use, &device->last, sizeof(use))) {
		/* The first row may be from the midst of allocations; this one is not. */
		if (!device->is_settled)
			write_row(samples, device, time_ns);
		device->is_settled = 1;
		return 0;
	}
	/* It was there and is not: it ends, and its memory goes piece by piece. */
	if (device->last.has_process && !use.has_process)
		return 0;
	device->last = use;
	device->has_last = 1;
	device->is_settled = 0;
	write_row(samples, device, time_ns);
	return 1;
}

void vt_device_samples_take(struct vt_device_samples *samples)
{
	int is_new = 0;

	if (!samples || vt_clock_ns() < samples->next_ns)
		return;
	find_devices(samples);
	for (size_t i = 0; i < samples->devices.len; i++)
		is_new |= look(samples, &samples->devices.items[i]);
	samples->interval_ns = is_new ? SHORTEST_INTERVAL_NS : 2 * samples->interval_ns;
	if (samples->interval_ns > LONGEST_INTERVAL_NS)
		samples->interval_ns = LONGEST_INTERVAL_NS;
	samples->next_ns = vt_clock_ns() + samples->interval_ns;
}
