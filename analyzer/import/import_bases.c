/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_bases.h"

#include <string.h>

#include "common/kinds.h"

/* The view `allocation` asks for blocks by that number. */
_Static_assert(VT_KIND_BLOCK == 1, "schema.sql");

static struct vt_key device_key(int64_t device)
{
	return (struct vt_key){ (uint64_t)device, 0, 0 };
}

/* What an earlier import wrote last. */
static int load_base(struct vt_import_bases *bases, struct vt_db *db)
{
	struct vt_stmt *stmt =
		vt_db_prepare(db,
			      "SELECT id, time_ns, address, sequence, allocated_bytes"
			      " FROM allocation_base ORDER BY id DESC LIMIT 1");
	int rc = vt_stmt_step(stmt);

	if (rc == 1) {
		bases->has_base = 1;
		bases->last = (struct vt_allocation_base){
			.id = vt_stmt_int(stmt, 0),
			.time_ns = vt_stmt_int(stmt, 1),
			.address = (uint64_t)vt_stmt_int(stmt, 2),
			.sequence = (uint64_t)vt_stmt_int(stmt, 3),
			.allocated_bytes = (uint64_t)vt_stmt_int(stmt, 4),
		};
	}
	vt_stmt_free(stmt);
	return rc < 0 ? -1 : 0;
}

static int load_reserved(struct vt_import_bases *bases, struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db,
					     "SELECT device, reserved_bytes, max(event)"
					     " FROM allocator_reserved GROUP BY device");
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1)
		vt_map_put(&bases->reserved, device_key(vt_stmt_int(stmt, 0)),
			   (uint64_t)vt_stmt_int(stmt, 1));
	vt_stmt_free(stmt);
	return rc;
}

int vt_import_bases_init(struct vt_import_bases *bases, struct vt_db *db)
{
	memset(bases, 0, sizeof(*bases));
	bases->insert_base = vt_db_prepare(db, "INSERT INTO allocation_base VALUES (?,?,?,?,?)");
	bases->insert_reserved = vt_db_prepare(db, "INSERT INTO allocator_reserved VALUES (?,?,?)");
	return load_base(bases, db) || load_reserved(bases, db) ? -1 : 0;
}

void vt_import_bases_release(struct vt_import_bases *bases)
{
	vt_stmt_free(bases->insert_base);
	vt_stmt_free(bases->insert_reserved);
	vt_map_release(&bases->reserved);
}

static void note(struct vt_import_bases *bases, const struct vt_event_record *record)
{
	if (record->kind != VT_KIND_BLOCK && bases->has_block)
		return;
	bases->has_block = record->kind == VT_KIND_BLOCK;
	bases->address = record->address;
	bases->allocated_bytes = record->allocated_bytes;
	if (record->forward_sequence != UINT64_MAX)
		bases->sequence = record->forward_sequence;
	else if (record->node_sequence != UINT64_MAX)
		bases->sequence = record->node_sequence;
}

static int write_base(struct vt_import_bases *bases)
{
	const struct vt_allocation_base *base = &bases->last;

	vt_stmt_bind_int(bases->insert_base, 1, base->id);
	vt_stmt_bind_int(bases->insert_base, 2, base->time_ns);
	vt_stmt_bind_int(bases->insert_base, 3, (int64_t)base->address);
	vt_stmt_bind_int(bases->insert_base, 4, (int64_t)base->sequence);
	vt_stmt_bind_int(bases->insert_base, 5, (int64_t)base->allocated_bytes);
	return vt_stmt_step(bases->insert_base);
}

static int note_reserved(struct vt_import_bases *bases, uint64_t id,
			 const struct vt_event_record *record)
{
	const uint64_t *known = vt_map_find(&bases->reserved, device_key(record->device));

	if (record->kind != VT_KIND_BLOCK || record->reserved_bytes == (known ? *known : 0))
		return 0;
	vt_map_put(&bases->reserved, device_key(record->device), record->reserved_bytes);
	vt_stmt_bind_int(bases->insert_reserved, 1, record->device);
	vt_stmt_bind_int(bases->insert_reserved, 2, (int64_t)id);
	vt_stmt_bind_int(bases->insert_reserved, 3, (int64_t)record->reserved_bytes);
	return vt_stmt_step(bases->insert_reserved);
}

const struct vt_allocation_base *vt_import_bases_add(struct vt_import_bases *bases, uint64_t id,
						     const struct vt_event_record *record)
{
	int64_t base_id = vt_allocation_base_id((int64_t)id);

	note(bases, record);
	if (!bases->has_base || base_id != bases->last.id) {
		bases->has_base = 1;
		bases->last = (struct vt_allocation_base){ base_id, (int64_t)record->time_ns,
							   bases->address, bases->sequence,
							   bases->allocated_bytes };
		if (write_base(bases))
			return NULL;
	}
	return note_reserved(bases, id, record) ? NULL : &bases->last;
}
