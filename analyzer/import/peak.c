/* SPDX-License-Identifier: MIT */
#include "analyzer/import/peak.h"

void vt_peak_release(struct vt_peak_totals *peak)
{
	vt_vector_release(&peak->devices);
}

/* A handful of devices at most: searched one by one. */
struct vt_peak_device *vt_peak_device_at(struct vt_peak_totals *peak, int32_t id)
{
	for (size_t i = 0; i < peak->devices.len; i++)
		if (peak->devices.items[i].id == id)
			return &peak->devices.items[i];
	vt_vector_push(&peak->devices, ((struct vt_peak_device){ .id = id }));
	return &peak->devices.items[peak->devices.len - 1];
}

/*
 * The total that memory of this kind counts to, NULL where it counts to none: memory of cuMemCreate
 * on the host is on device -1.
 */
static uint64_t *total_of(struct vt_peak_totals *peak, int32_t id, unsigned int kind)
{
	struct vt_peak_device *device;

	if (id < 0 || (kind != VT_KIND_BLOCK && !vt_kind_is_driver(kind)))
		return NULL;
	device = vt_peak_device_at(peak, id);
	device->is_touched = 1;
	return kind == VT_KIND_BLOCK ? &device->allocated_bytes : &device->used_bytes;
}

void vt_peak_add(struct vt_peak_totals *peak, int32_t device, unsigned int kind,
		 uint64_t size_bytes)
{
	uint64_t *total = total_of(peak, device, kind);

	if (total)
		*total += size_bytes;
	if (total && kind == VT_KIND_POOL)
		vt_peak_device_at(peak, device)->pooled_bytes += size_bytes;
}

void vt_peak_remove(struct vt_peak_totals *peak, int32_t device, unsigned int kind,
		    uint64_t size_bytes)
{
	uint64_t *total = total_of(peak, device, kind);

	if (total)
		*total -= size_bytes;
	if (total && kind == VT_KIND_POOL)
		vt_peak_device_at(peak, device)->pooled_bytes -= size_bytes;
}

void vt_peak_set_idle(struct vt_peak_totals *peak, int32_t device, uint64_t idle_bytes)
{
	struct vt_peak_device *d = device < 0 ? NULL : vt_peak_device_at(peak, device);

	if (!d || d->idle_bytes == idle_bytes)
		return;
	d->idle_bytes = idle_bytes;
	d->is_touched = 1;
}

static uint64_t used_of(const struct vt_peak_device *d)
{
	return d->used_bytes + d->idle_bytes;
}

static void settle_instants(struct vt_peak_instants *most, const struct vt_peak_device *d,
			    uint64_t event)
{
	uint64_t owned = d->allocated_bytes + d->pooled_bytes;

	/* Most used; among equal ones most allocated; among those the first. */
	if (used_of(d) > most->used_bytes ||
	    (used_of(d) == most->used_bytes &&
	     owned > most->allocated_bytes + most->pooled_bytes)) {
		most->event = event;
		most->used_bytes = used_of(d);
		most->allocated_bytes = d->allocated_bytes;
		most->pooled_bytes = d->pooled_bytes;
		most->is_changed = 1;
	}
	if (d->allocated_bytes > most->max_allocated_bytes) {
		most->max_allocated_event = event;
		most->max_allocated_bytes = d->allocated_bytes;
		most->is_changed = 1;
	}
}

static void settle_device(struct vt_peak_device *d, uint64_t event)
{
	settle_instants(&d->run, d, event);
	settle_instants(&d->period, d, event);
	d->is_touched = 0;
}

void vt_peak_settle(struct vt_peak_totals *peak, uint64_t event)
{
	for (size_t i = 0; i < peak->devices.len; i++)
		if (peak->devices.items[i].is_touched)
			settle_device(&peak->devices.items[i], event);
}

void vt_peak_begin_period(struct vt_peak_totals *peak, uint64_t event)
{
	for (size_t i = 0; i < peak->devices.len; i++) {
		struct vt_peak_device *d = &peak->devices.items[i];

		d->period = (struct vt_peak_instants){ 0 };
		settle_instants(&d->period, d, event);
	}
}

uint64_t vt_peak_used(struct vt_peak_totals *peak, int32_t device)
{
	return used_of(vt_peak_device_at(peak, device));
}

static int save_device(const struct vt_peak_device *d, struct vt_db *db)
{
	struct vt_stmt *stmt =
		vt_db_prepare(db, "INSERT OR REPLACE INTO peak VALUES (?, ?, ?, ?, ?, ?)");
	int rc;

	vt_stmt_bind_int(stmt, 1, d->id);
	vt_stmt_bind_int(stmt, 2, (int64_t)d->run.event);
	vt_stmt_bind_int(stmt, 3, (int64_t)d->run.used_bytes);
	vt_stmt_bind_int(stmt, 4, (int64_t)d->run.allocated_bytes);
	vt_stmt_bind_int(stmt, 5, (int64_t)d->run.max_allocated_event);
	vt_stmt_bind_int(stmt, 6, (int64_t)d->run.max_allocated_bytes);
	rc = vt_stmt_step(stmt);
	vt_stmt_free(stmt);
	return rc;
}

/* Mostly nothing is new, and to prepare a statement costs more than to run it. */
int vt_peak_save(struct vt_peak_totals *peak, struct vt_db *db)
{
	int rc = 0;

	for (size_t i = 0; i < peak->devices.len && !rc; i++) {
		struct vt_peak_device *d = &peak->devices.items[i];

		if (!d->run.is_changed)
			continue;
		rc = save_device(d, db);
		d->run.is_changed = 0;
	}
	return rc;
}

_Static_assert(VT_KIND_POOL == 4, "vt_peak_load");

int vt_peak_load(struct vt_peak_totals *peak, struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db,
					     "SELECT device, event, used_bytes, allocated_bytes,"
					     " max_allocated_event, max_allocated_bytes,"
					     " (SELECT ifnull(sum(size_bytes), 0) FROM allocation a"
					     " WHERE a.kind = 4 AND a.device = p.device AND"
					     " a.id <= p.event AND (a.freed_event IS NULL OR"
					     " a.freed_event > p.event)) FROM peak p");
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_peak_device *d = vt_peak_device_at(peak, (int32_t)vt_stmt_int(stmt, 0));

		d->run.event = (uint64_t)vt_stmt_int(stmt, 1);
		d->run.used_bytes = (uint64_t)vt_stmt_int(stmt, 2);
		d->run.allocated_bytes = (uint64_t)vt_stmt_int(stmt, 3);
		d->run.max_allocated_event = (uint64_t)vt_stmt_int(stmt, 4);
		d->run.max_allocated_bytes = (uint64_t)vt_stmt_int(stmt, 5);
		d->run.pooled_bytes = (uint64_t)vt_stmt_int(stmt, 6);
	}
	vt_stmt_free(stmt);
	return rc;
}
