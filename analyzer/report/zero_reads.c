/* SPDX-License-Identifier: MIT */
#include "analyzer/report/zero_reads.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/json.h"

/* More were not decided by. */
#define MOST_LINES 4

struct zero_read {
	int64_t before_end_ns;
	uint64_t bytes; /* 0: the size of a result */
	char *where;
	char *caller; /* the program's line, where that is a library's; NULL: it is not */
};

VT_VECTOR_DECLARE(zero_reads, struct zero_read);

_Static_assert(VT_OP_READ == 26, "the number below");
static const char sql[] =
	"SELECT time_ns - extra, size_bytes, python_stack, native_stack"
	" FROM event WHERE op = 26 ORDER BY id DESC";

static struct zero_read take(const struct vt_report *report, struct vt_stmt *stmt)
{
	const struct vt_producer at = { .python_stack = vt_stmt_id(stmt, 2),
					.native_stack = vt_stmt_id(stmt, 3) };

	return (struct zero_read){
		.before_end_ns = vt_stmt_int(stmt, 0),
		.bytes = (uint64_t)vt_stmt_int(stmt, 1),
		.where = vt_producer_first_line(&report->describe, &at),
		.caller = vt_producer_caller(&report->describe, &at),
	};
}

static void release_read(struct zero_read *read)
{
	free(read->where);
	free(read->caller);
}

/* Stacks that end in the same line are one. */
static int is_known(const struct zero_reads *reads, const struct zero_read *read)
{
	for (size_t i = 0; i < reads->len; i++)
		if (!strcmp(reads->items[i].where, read->where))
			return 1;
	return 0;
}

static void find(struct zero_reads *reads, const struct vt_report *report)
{
	struct vt_stmt *stmt = vt_db_prepare(report->analysis->db, sql);

	while (vt_stmt_step(stmt) == 1 && reads->len < MOST_LINES) {
		struct zero_read read = take(report, stmt);

		if (read.where && !is_known(reads, &read))
			vt_vector_push(reads, read);
		else
			release_read(&read);
	}
	vt_stmt_free(stmt);
}

static void release(struct zero_reads *reads)
{
	for (size_t i = 0; i < reads->len; i++)
		release_read(&reads->items[i]);
	vt_vector_release(reads);
}

static void print_one(const struct zero_read *read, FILE *out)
{
	char bytes[VT_UNITS_MAX] = "a size", time[VT_UNITS_MAX];

	if (read->bytes)
		vt_units_bytes(bytes, sizeof(bytes), read->bytes);
	fprintf(out, "  %s  took %s from the device, %s before the end\n", read->where, bytes,
		vt_units_duration(time, sizeof(time),
				  read->before_end_ns > 0 ? (uint64_t)read->before_end_ns : 0));
	if (read->caller)
		fprintf(out, "      called by %s\n", read->caller);
}

void vt_zero_reads_print(const struct vt_report *report, FILE *out)
{
	struct zero_reads reads = { 0 };

	find(&reads, report);
	if (reads.len)
		fputs("ZEROS READ  on the simulator device values are zeros; before it failed, the"
		      " program read them here:\n",
		      out);
	for (size_t i = 0; i < reads.len; i++)
		print_one(&reads.items[i], out);
	if (reads.len)
		fputc('\n', out);
	release(&reads);
}

json_t *vt_zero_reads_json(const struct vt_report *report)
{
	struct zero_reads reads = { 0 };
	json_t *array = json_array();

	find(&reads, report);
	for (size_t i = 0; i < reads.len; i++) {
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "where", reads.items[i].where);
		vt_json_set(object, "caller", reads.items[i].caller);
		vt_json_set(object, "bytes", reads.items[i].bytes);
		vt_json_set(object, "before_end_ns", reads.items[i].before_end_ns);
	}
	release(&reads);
	return array;
}
