/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_definitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/import/run_keys.h"
#include "analyzer/base/util.h"

void vt_import_definitions_init(struct vt_import_definitions *d, struct vt_db *db)
{
	memset(d, 0, sizeof(*d));
	d->db = db;
	d->string = vt_db_prepare(db, "INSERT OR IGNORE INTO string VALUES (?,?)");
	d->info = vt_db_prepare(db, "INSERT OR REPLACE INTO run VALUES (?,?)");
	/*
	 * A sample may have made the row before the device was described, and the other way round.
	 */
	d->device = vt_db_prepare(
		db,
		"INSERT INTO device(id, name, total_bytes, capability, multiprocessors,"
		" driver_version, simulated) VALUES (?1,?2,?3,?4,?5,?6,?7)"
		" ON CONFLICT(id) DO UPDATE SET name=?2, total_bytes=?3, capability=?4,"
		" multiprocessors=?5, driver_version=?6, simulated=?7");
	d->context = vt_db_prepare(
		db,
		"INSERT INTO device VALUES (?1, '', ?2, 0, 0, 0, 0, ?3)"
		" ON CONFLICT(id) DO UPDATE SET context_bytes = ifnull(context_bytes, ?3)");
}

void vt_import_definitions_release(struct vt_import_definitions *d)
{
	vt_stmt_free(d->string);
	vt_stmt_free(d->info);
	vt_stmt_free(d->device);
	vt_stmt_free(d->context);
}

int vt_import_definitions_string(struct vt_import_definitions *d, const struct vt_string_record *r)
{
	vt_stmt_bind_int(d->string, 1, r->id);
	vt_stmt_bind_text_len(d->string, 2, r->text, (int)r->len);
	return vt_stmt_step(d->string);
}

static int is_importers_key(const char *key, size_t len)
{
#define KEY(name, text) text,
	static const char *const keys[] = { VT_RUN_KEYS(KEY) };
#undef KEY

	for (size_t i = 0; i < VT_ARRAY_SIZE(keys); i++)
		if (strlen(keys[i]) == len && !memcmp(keys[i], key, len))
			return 1;
	return 0;
}

int vt_import_definitions_info(struct vt_import_definitions *d, const struct vt_info_record *r)
{
	if (is_importers_key(r->text, r->key_len))
		return 0;
	vt_stmt_bind_text_len(d->info, 1, r->text, (int)r->key_len);
	vt_stmt_bind_text_len(d->info, 2, r->text + r->key_len, (int)r->value_len);
	return vt_stmt_step(d->info);
}

int vt_import_definitions_device(struct vt_import_definitions *d, const struct vt_device_record *r)
{
	vt_stmt_bind_int(d->device, 1, r->id);
	vt_stmt_bind_text_len(d->device, 2, r->name, (int)r->name_len);
	vt_stmt_bind_int(d->device, 3, (int64_t)r->total_bytes);
	vt_stmt_bind_int(d->device, 4, r->capability);
	vt_stmt_bind_int(d->device, 5, r->multiprocessors);
	vt_stmt_bind_int(d->device, 6, r->driver_version);
	vt_stmt_bind_int(d->device, 7, r->is_simulated != 0);
	return vt_stmt_step(d->device);
}

int vt_import_definitions_sample(struct vt_import_definitions *d, const struct vt_event_record *r,
				 uint64_t recorded_bytes)
{
	uint64_t used_bytes = r->size_bytes - r->extra;

	/* Taken while another thread allocated: the next sample will do. */
	if (r->extra > r->size_bytes || used_bytes < recorded_bytes)
		return 0;
	vt_stmt_bind_int(d->context, 1, r->device);
	vt_stmt_bind_int(d->context, 2, (int64_t)r->size_bytes);
	vt_stmt_bind_int(d->context, 3, (int64_t)(used_bytes - recorded_bytes));
	return vt_stmt_step(d->context);
}

/* What is between the quotes of  __version__ = '2.11.0+cu130'; NULL if it is not there. */
static char *read_version(const char *path)
{
	int fd = vt_util_open_regular(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256], *version = NULL;

	while (file && !version && fgets(line, sizeof(line), file)) {
		char *start = strpbrk(line, "'\""), *end;

		if (strncmp(line, "__version__", strlen("__version__")) || !start)
			continue;
		end = strchr(start + 1, *start);
		if (end)
			version = vt_xstrndup(start + 1, (size_t)(end - start - 1));
	}
	if (file)
		fclose(file);
	return version;
}

int vt_import_definitions_torch(struct vt_import_definitions *d, const struct vt_module_record *r)
{
	static const char suffix[] = "/lib/libtorch_cpu.so";
	size_t suffix_len = sizeof(suffix) - 1;
	const char *path = r->bytes + r->build_id_len;
	char *file, *version;
	int rc = 0;

	if (r->path_len < suffix_len || memcmp(path + r->path_len - suffix_len, suffix, suffix_len))
		return 0;
	file = vt_xasprintf("%.*s/version.py", (int)(r->path_len - suffix_len), path);
	version = read_version(file);
	if (version)
		rc = vt_db_run_set(d->db, "torch", version);
	free(version);
	free(file);
	return rc;
}
