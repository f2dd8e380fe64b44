/* SPDX-License-Identifier: MIT */
#include "tests/lib/database_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "tests/lib/allocations_sql.h"

#define NODE_FORMAT "N5torch8autograd9generated%zu%sE"

struct builder_db {
	struct vt_db *db;
	int64_t last_event;
	uint64_t next_address;
	uint32_t nr_strings, nr_python, nr_native; /* ids given out so far */
	int nr_devices;
	enum vt_kind default_kind;
};

/* A test whose database cannot be made has failed. */
static void check(int holds, const char *what, const char *why)
{
	if (holds)
		return;
	fprintf(stderr, "%s: %s\n", what, why);
	abort();
}

static void exec(struct builder_db *b, char *sql)
{
	int rc = vt_db_exec(b->db, sql);

	check(!rc, sql, rc ? vt_db_error(b->db) : "");
	free(sql);
}

static int64_t query(struct builder_db *b, char *sql)
{
	int64_t value = vt_db_query_int(b->db, sql, 0);

	free(sql);
	return value;
}

struct builder_db *build_open(const char *path)
{
	struct builder_db *b = vt_xcalloc(1, sizeof(*b));
	struct vt_diag diag = { 0 };
	int rc = vt_db_open(&b->db, path, VT_DB_CREATE, &diag);

	check(!rc, path, diag.text);
	b->default_kind = VT_KIND_BLOCK;
	b->next_address = 0x7f0000000000;
	build_run(b, "start_time_ns", "0");
	check(!vt_db_exec(b->db, vt_embedded_writable_allocations), path, "failed");
	vt_db_begin(b->db);
	return b;
}

static const char driver_kinds[] = "2, 3, 4, 5, 7";

/*
 * The instant of highest use, then of most block bytes, then the first: as the importer counts it.
 */
static void add_peaks(struct builder_db *b)
{
	for (int d = 0; d < b->nr_devices; d++)
		exec(b,
		     vt_xasprintf(
			     "INSERT INTO peak SELECT %d, e.event, e.used, e.blocks, e.event, "
			     "e.blocks FROM"
			     " (SELECT x.event AS event,"
			     "  (SELECT coalesce(sum(size_bytes), 0) FROM allocation a WHERE "
			     "a.device = %d"
			     "   AND a.kind IN (%s) AND a.id <= x.event"
			     "   AND (a.freed_event IS NULL OR a.freed_event > x.event)) AS used,"
			     "  (SELECT coalesce(sum(size_bytes), 0) FROM allocation a WHERE "
			     "a.device = %d"
			     "   AND a.kind = 1 AND a.id <= x.event"
			     "   AND (a.freed_event IS NULL OR a.freed_event > x.event)) AS blocks"
			     "  FROM every_event x) e ORDER BY used DESC, blocks DESC, event LIMIT "
			     "1",
			     d, d, driver_kinds, d));
}

void build_close(struct builder_db *b)
{
	if (!b->nr_devices)
		build_device(b, 0, 8ull << 30, 0);
	add_peaks(b);
	check(!vt_db_commit(b->db), "commit", "failed");
	vt_db_make_single_file(b->db);
	vt_db_close(b->db);
	free(b);
}

static uint32_t intern(struct builder_db *b, const char *text)
{
	uint32_t id;

	if (!text)
		return 0;
	id = (uint32_t)query(b, vt_xasprintf("SELECT min(id) FROM string WHERE text = '%s'", text));
	if (id)
		return id;
	exec(b, vt_xasprintf("INSERT INTO string VALUES (%u, '%s')", ++b->nr_strings, text));
	return b->nr_strings;
}

/* The probe's strings have ids of their own, as the recorder gives them. */
static uint32_t intern_again(struct builder_db *b, const char *text)
{
	if (!text)
		return 0;
	exec(b, vt_xasprintf("INSERT INTO string VALUES (%u, '%s')", ++b->nr_strings, text));
	return b->nr_strings;
}

static uint32_t node_class(struct builder_db *b, const char *name)
{
	char rtti[256];

	if (!name)
		return 0;
	snprintf(rtti, sizeof(rtti), NODE_FORMAT, strlen(name), name);
	return intern(b, rtti);
}

/* The same text is the same frame; nodes are not shared. */
static void add_python_frame(struct builder_db *b, const char *text, uint32_t parent)
{
	char file[256], function[256], type[128] = "";
	unsigned line = 0;
	unsigned long long address = 0;
	uint32_t id = intern(b, text), node = ++b->nr_python;
	char self[64] = "NULL";
	int got = sscanf(text, "%255[^:]:%u %255s %127[^@]@%llu", file, &line, function, type,
			 &address);

	check(got == 3 || got == 5, text, "is no Python frame");
	if (got == 5)
		snprintf(self, sizeof(self), "%u", intern(b, type));
	exec(b, vt_xasprintf("INSERT OR IGNORE INTO python_code VALUES (%u, '%s', '%s', 1);"
			     "INSERT OR IGNORE INTO python_frame VALUES (%u, %u, %u, %s, %llu);"
			     "INSERT INTO python_node VALUES (%u, %u, %u)",
			     id, file, function, id, id, line, self, address, node, parent, id));
}

static void add_native_frame(struct builder_db *b, const char *text, uint32_t parent)
{
	const char *bang = strchr(text, '!');
	uint32_t id = ++b->nr_native;

	check(bang != NULL, text, "is no native frame");
	exec(b, vt_xasprintf("INSERT INTO module VALUES (%u, '/lib/%.*s', '', 0, 0, 0);"
			     "INSERT INTO native_frame VALUES (%u, %u, %u, %s%s%s, 16, NULL, NULL);"
			     "INSERT INTO native_node VALUES (%u, %u, %u)",
			     id, (int)(bang - text), text, id, id, id, bang[1] ? "'" : "NULL",
			     bang + 1, bang[1] ? "'" : "", id, parent, id));
}

/* Adds a stack and returns its id; the same text gives the same stack. */
static uint32_t add_stack(struct builder_db *b, const char *text, int is_native)
{
	const char *separator = " < ", *table = is_native ? "native" : "python";
	const char *frames[64];
	unsigned nr = 0;
	char *copy, *next;
	uint32_t id = 0, known;

	if (!text)
		return 0;
	known = intern(b, text);
	id = (uint32_t)query(b,
			     vt_xasprintf("SELECT id FROM %s_stack WHERE id = %u", table, known));
	if (id)
		return id;
	copy = vt_xstrdup(text);
	for (char *at = copy; at; at = next) {
		next = strstr(at, separator);
		if (next) {
			*next = '\0';
			next += strlen(separator);
		}
		frames[nr++] = at;
	}
	for (unsigned i = nr; i-- > 0;) {
		uint32_t parent = i + 1 == nr ? 0 : is_native ? b->nr_native : b->nr_python;

		if (is_native)
			add_native_frame(b, frames[i], parent);
		else
			add_python_frame(b, frames[i], parent);
	}
	exec(b, vt_xasprintf("INSERT INTO %s_stack VALUES (%u, %u, %u)", table, known,
			     is_native ? b->nr_native : b->nr_python, nr));
	free(copy);
	return known;
}

static uint32_t thread_of(const struct build_event *event)
{
	if (event->thread)
		return event->thread;
	return event->node ? BUILD_ENGINE_THREAD : BUILD_MAIN_THREAD;
}

/* A number or NULL, in a ring of buffers that outlives one statement. */
static const char *or_null(uint64_t value, int is_there)
{
	static char ring[16][24];
	static unsigned at;
	char *text = ring[at++ % 16];

	snprintf(text, sizeof(ring[0]), is_there ? "%" PRIu64 : "NULL", value);
	return text;
}

void build_default_kind(struct builder_db *b, enum vt_kind kind)
{
	b->default_kind = kind;
}

int64_t build_alloc(struct builder_db *b, const struct build_event *event)
{
	uint32_t native = add_stack(b, event->native, 1), python = add_stack(b, event->python, 0);
	uint32_t scope = intern(b, event->scope), node = node_class(b, event->node);
	uint32_t forward_python = add_stack(b, event->forward_python, 0);
	uint64_t address = event->address ? event->address : b->next_address;
	int64_t id = ++b->last_event;

	if (!event->address)
		b->next_address += (event->size + 511) / 512 * 512;
	exec(b,
	     vt_xasprintf("INSERT INTO allocation (id, kind, device, address, size_bytes, stream,"
			  " function, thread, time_ns, native_stack, python_stack, scope,"
			  " node_class, node_sequence, forward_sequence, allocated_bytes,"
			  " reserved_bytes, forward_python_stack, requested_bytes, grad)"
			  " VALUES (%" PRId64
			  ", %d, %d, %" PRIu64 ", %" PRIu64
			  ", %" PRIu64 ", 100, %u, %" PRId64
			  ", %s, %s, %s, %s, %s, %s, 0, 0, %s, %s, %s)",
			  id, (int)(event->kind ? event->kind : b->default_kind), event->device,
			  address, event->size, event->stream, thread_of(event), id * 1000000,
			  or_null(native, native != 0), or_null(python, python != 0),
			  or_null(scope, scope != 0), or_null(node, node != 0),
			  or_null(event->sequence, event->node && event->sequence),
			  or_null(event->forward, event->forward != 0),
			  or_null(forward_python, forward_python != 0),
			  or_null(event->requested, event->requested != 0),
			  or_null(event->grad, event->grad != VT_GRAD_UNKNOWN)));
	return id;
}

int64_t build_segment_at(struct builder_db *b, uint64_t address, uint64_t size)
{
	return build_alloc(b, &(struct build_event){
				      .kind = VT_KIND_SEGMENT, .address = address, .size = size });
}

int64_t build_block_at(struct builder_db *b, uint64_t address, uint64_t size)
{
	return build_alloc(b, &(struct build_event){
				      .address = address, .size = size, .python = BUILD_MAIN });
}

int64_t build_free(struct builder_db *b, int64_t allocation, const struct build_event *event)
{
	static const struct build_event nothing;
	const struct build_event *e = event ? event : &nothing;
	uint32_t native = add_stack(b, e->native, 1), python = add_stack(b, e->python, 0);
	uint32_t scope = intern(b, e->scope), node = node_class(b, e->node);
	uint32_t forward_python = add_stack(b, e->forward_python, 0);
	int64_t id = ++b->last_event;

	exec(b, vt_xasprintf("UPDATE allocation SET freed_event = %" PRId64
			     ", freed_time_ns = %" PRId64
			     ", freed_thread = %u, freed_function = 100, freed_native_stack = %s,"
			     " freed_python_stack = %s, freed_scope = %s, freed_node_class = %s,"
			     " freed_node_sequence = %s, freed_forward_python_stack = %s"
			     ", freed_grad = %s WHERE id = %" PRId64,
			     id, id * 1000000, thread_of(e), or_null(native, native != 0),
			     or_null(python, python != 0), or_null(scope, scope != 0),
			     or_null(node, node != 0), or_null(e->sequence, e->node && e->sequence),
			     or_null(forward_python, forward_python != 0),
			     or_null(e->grad, e->grad != VT_GRAD_UNKNOWN), allocation));
	return id;
}

int64_t build_mark(struct builder_db *b, const char *name, enum vt_mark_kind kind,
		   enum vt_mark_source source)
{
	return build_mark_at(b, name, kind, source, NULL);
}

int64_t build_mark_at(struct builder_db *b, const char *name, enum vt_mark_kind kind,
		      enum vt_mark_source source, const char *place)
{
	uint32_t python = add_stack(b, place, 0);
	int64_t id = ++b->last_event;

	exec(b, vt_xasprintf("INSERT INTO mark VALUES (%" PRId64 ", %" PRId64
			     ", %d, %d, %d, %u, %s)",
			     id, id * 1000000, BUILD_MAIN_THREAD, (int)kind, (int)source,
			     intern(b, name), or_null(python, python != 0)));
	return id;
}

int64_t build_oom(struct builder_db *b, const struct build_event *event)
{
	uint32_t native = add_stack(b, event->native, 1), python = add_stack(b, event->python, 0);
	uint32_t forward = add_stack(b, event->forward_python, 0);
	uint32_t node = node_class(b, event->node);
	int64_t id = ++b->last_event;

	exec(b,
	     vt_xasprintf("INSERT INTO out_of_memory VALUES (%" PRId64 ", %" PRId64
			  ", %u, %d, %" PRIu64 ", 0, 0, %s, %s, NULL, %s, %s, %" PRIu64
			  ", %s, %s)",
			  id, id * 1000000, thread_of(event), event->device, event->size,
			  or_null(native, native != 0), or_null(python, python != 0),
			  or_null(node, node != 0), or_null(event->sequence, event->node != NULL),
			  event->stream, or_null(event->grad, event->grad != VT_GRAD_UNKNOWN),
			  or_null(forward, forward != 0)));
	return id;
}

int64_t build_map(struct builder_db *b, int64_t allocation, uint64_t address, uint64_t size,
		  enum vt_op op)
{
	int64_t id = ++b->last_event;

	exec(b,
	     vt_xasprintf("INSERT INTO event VALUES (%" PRId64 ", %" PRId64
			  ", %d, %d, 3, 0, 13, %" PRIu64 ", %" PRIu64
			  ", (SELECT address FROM allocation WHERE id = %" PRId64 "), NULL, NULL)",
			  id, id * 1000000, BUILD_MAIN_THREAD, (int)op, address, size, allocation));
	return id;
}

void build_tensor(struct builder_db *b, const struct build_tensor *tensor)
{
	uint32_t name = intern_again(b, tensor->name), holder = intern_again(b, tensor->holder);
	uint32_t dtype = intern_again(b, tensor->dtype ? tensor->dtype : "float32");
	uint32_t shape = intern_again(b, tensor->shape);

	exec(b, vt_xasprintf("INSERT INTO tensor SELECT NULL, %" PRId64 ", %u, device, address"
			     " + %" PRIu64 ", size_bytes - %" PRIu64 ", %d, %u, %s, %s, %u, %s"
			     " FROM allocation WHERE id = %" PRId64,
			     b->last_event, tensor->probe ? tensor->probe : 1, tensor->offset,
			     tensor->offset, (int)tensor->role, tensor->flags,
			     or_null(name, name != 0), or_null(holder, holder != 0), dtype,
			     or_null(shape, shape != 0), tensor->allocation));
}

void build_module(struct builder_db *b, uint64_t address, const char *type, const char *name,
		  const char *holder, uint64_t root)
{
	uint32_t class = intern_again(b, type), path = intern_again(b, name);
	uint32_t variable = intern_again(b, holder);

	exec(b, vt_xasprintf("INSERT INTO torch_module VALUES (NULL, %" PRId64 ", 1, %" PRIu64
			     ", %u, %s, %s, %" PRIu64 ")",
			     b->last_event, address, class, or_null(path, path != 0),
			     or_null(variable, variable != 0), root));
}

int64_t build_graph(struct builder_db *b, enum vt_op op, uint64_t address, uint64_t extra)
{
	int64_t id = ++b->last_event;

	exec(b, vt_xasprintf("INSERT INTO event VALUES (%" PRId64 ", %" PRId64
			     ", %d, %d, %d, -1, 24, %" PRIu64 ", 0, %" PRIu64 ", NULL, NULL)",
			     id, id * 1000000, BUILD_MAIN_THREAD, (int)op, VT_KIND_GRAPH, address,
			     extra));
	return id;
}

void build_sample(struct builder_db *b, int device, int64_t after_ns, uint64_t total,
		  uint64_t process)
{
	exec(b, vt_xasprintf("INSERT INTO device_sample VALUES (%" PRId64 ", %d, %" PRIu64 ", %s)",
			     b->last_event * 1000000 + after_ns, device, total,
			     or_null(process, process != 0)));
}

int64_t build_memory_info(struct builder_db *b, int device, uint64_t total, uint64_t used)
{
	int64_t id = ++b->last_event;

	exec(b, vt_xasprintf("INSERT INTO event VALUES (%" PRId64 ", %" PRId64
			     ", %d, %d, %d, %d, 31, 0, %" PRIu64 ", %" PRIu64 ", NULL, NULL)",
			     id, id * 1000000, BUILD_MAIN_THREAD, VT_OP_MEMORY_INFO,
			     VT_KIND_SEGMENT, device, total, total - used));
	return id;
}

void build_run(struct builder_db *b, const char *key, const char *value)
{
	vt_db_run_set(b->db, key, value);
}

void build_device(struct builder_db *b, int id, uint64_t total, int64_t context)
{
	exec(b, vt_xasprintf("INSERT INTO device VALUES (%d, 'Test GPU', %" PRIu64
			     ", 90, 132, 13000, 1, %s)",
			     id, total, or_null((uint64_t)context, context > 0)));
	b->nr_devices = id + 1 > b->nr_devices ? id + 1 : b->nr_devices;
}
