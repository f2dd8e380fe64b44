/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_names.h"

#include <string.h>

void vt_import_names_init(struct vt_import_names *names, struct vt_db *db)
{
	memset(names, 0, sizeof(*names));
	/* "replace": two probes of one number, in a damaged journal, are no reason to stop. */
	names->probe = vt_db_prepare(db, "INSERT OR REPLACE INTO probe VALUES (?,?,?,?,?,?,?)");
	names->tensor =
		vt_db_prepare(db, "INSERT INTO tensor VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)");
	names->torch_module =
		vt_db_prepare(db, "INSERT INTO torch_module VALUES (NULL,?,?,?,?,?,?,?)");
	names->source = vt_db_prepare(db, "INSERT OR REPLACE INTO python_source VALUES (?,?,?,?)");
}

void vt_import_names_release(struct vt_import_names *names)
{
	vt_stmt_free(names->probe);
	vt_stmt_free(names->tensor);
	vt_stmt_free(names->torch_module);
	vt_stmt_free(names->source);
}

int vt_import_names_probe(struct vt_import_names *names, uint64_t event,
			  const struct vt_probe_record *r)
{
	struct vt_stmt *stmt = names->probe;

	vt_stmt_bind_int(stmt, 1, r->probe);
	vt_stmt_bind_int(stmt, 2, (int64_t)event);
	vt_stmt_bind_int(stmt, 3, (int64_t)r->time_ns);
	vt_stmt_bind_int(stmt, 4, (int64_t)r->duration_ns);
	vt_stmt_bind_int(stmt, 5, r->thread);
	vt_stmt_bind_id(stmt, 6, r->reason);
	vt_stmt_bind_int(stmt, 7, r->nr_tensors);
	return vt_stmt_step(stmt);
}

int vt_import_names_tensor(struct vt_import_names *names, uint64_t event,
			   const struct vt_tensor_record *r)
{
	struct vt_stmt *stmt = names->tensor;

	vt_stmt_bind_int(stmt, 1, (int64_t)event);
	vt_stmt_bind_int(stmt, 2, r->probe);
	vt_stmt_bind_int(stmt, 3, r->device);
	vt_stmt_bind_int(stmt, 4, (int64_t)r->address);
	vt_stmt_bind_int(stmt, 5, (int64_t)r->size_bytes);
	vt_stmt_bind_int(stmt, 6, r->role);
	vt_stmt_bind_int(stmt, 7, r->flags);
	vt_stmt_bind_id(stmt, 8, r->name);
	vt_stmt_bind_id(stmt, 9, r->holder);
	vt_stmt_bind_id(stmt, 10, r->dtype);
	vt_stmt_bind_id(stmt, 11, r->shape);
	return vt_stmt_step(stmt);
}

int vt_import_names_torch_module(struct vt_import_names *names, uint64_t event,
				 const struct vt_torch_module_record *r)
{
	struct vt_stmt *stmt = names->torch_module;

	vt_stmt_bind_int(stmt, 1, (int64_t)event);
	vt_stmt_bind_int(stmt, 2, r->probe);
	vt_stmt_bind_int(stmt, 3, (int64_t)r->address);
	vt_stmt_bind_id(stmt, 4, r->class_name);
	vt_stmt_bind_id(stmt, 5, r->name);
	vt_stmt_bind_id(stmt, 6, r->holder);
	vt_stmt_bind_int(stmt, 7, (int64_t)r->root_address);
	return vt_stmt_step(stmt);
}

int vt_import_names_source(struct vt_import_names *names, const struct vt_source_record *r)
{
	struct vt_stmt *stmt = names->source;

	vt_stmt_bind_text_len(stmt, 1, r->bytes, (int)r->file_len);
	vt_stmt_bind_int(stmt, 2, r->kind);
	vt_stmt_bind_int(stmt, 3, r->part);
	vt_stmt_bind_text_len(stmt, 4, r->bytes + r->file_len, (int)r->text_len);
	return vt_stmt_step(stmt);
}
