/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_stacks.h"

#include <string.h>

#include "analyzer/import/python_lines.h"

void vt_import_stacks_init(struct vt_import_stacks *s, struct vt_db *db)
{
	memset(s, 0, sizeof(*s));
	s->db = db;
	s->native_frames.insert =
		vt_db_prepare(db, "INSERT INTO native_frame(id, address, module) VALUES (?,?,?)");
	s->native_nodes.insert = vt_db_prepare(db, "INSERT INTO native_node VALUES (?,?,?)");
	s->python_frames.insert = vt_db_prepare(db, "INSERT INTO python_frame VALUES (?,?,?,?,?)");
	s->python_nodes.insert = vt_db_prepare(db, "INSERT INTO python_node VALUES (?,?,?)");
	s->module = vt_db_prepare(db, "INSERT INTO module VALUES (?,?,?,?,?,?)");
	s->code = vt_db_prepare(db, "INSERT OR IGNORE INTO python_code VALUES (?,?,?,?)");
	s->line_table = vt_db_prepare(db, "INSERT OR IGNORE INTO python_line_table VALUES (?,?,?)");
	s->native_stack = vt_db_prepare(db, "INSERT OR IGNORE INTO native_stack VALUES (?,?,?)");
	s->python_line = vt_db_prepare(db, "UPDATE python_frame SET line = ?2 WHERE id = ?1");
	s->python_stack = vt_db_prepare(db, "INSERT OR IGNORE INTO python_stack VALUES (?,?,?)");
}

static void release_rows(struct vt_stack_rows *rows)
{
	vt_map_release(&rows->ids);
	vt_stmt_free(rows->insert);
}

void vt_import_stacks_release(struct vt_import_stacks *s)
{
	for (size_t i = 0; i < s->codes.len; i++)
		free(s->codes.items[i].table);
	vt_vector_release(&s->codes);
	vt_vector_release(&s->modules);
	vt_map_release(&s->code_places);
	vt_map_release(&s->seen_native_frames);
	vt_map_release(&s->seen_python_frames);
	vt_vector_release(&s->undecoded);
	release_rows(&s->native_frames);
	release_rows(&s->native_nodes);
	release_rows(&s->python_frames);
	release_rows(&s->python_nodes);
	vt_stmt_free(s->module);
	vt_stmt_free(s->code);
	vt_stmt_free(s->line_table);
	vt_stmt_free(s->native_stack);
	vt_stmt_free(s->python_stack);
	vt_stmt_free(s->python_line);
}

static void bind_or_null(struct vt_stmt *stmt, int parameter, uint64_t value)
{
	if (value)
		vt_stmt_bind_int(stmt, parameter, (int64_t)value);
	else
		vt_stmt_bind_null(stmt, parameter);
}

uint32_t vt_stack_modules_find(const struct vt_stack_modules *modules, uint64_t return_address)
{
	for (size_t i = modules->len; i-- > 0;) {
		const struct vt_stack_module *m = &modules->items[i];

		if (return_address - 1 >= m->start && return_address - 1 < m->end)
			return m->id;
	}
	return 0;
}

static void remember_module(struct vt_import_stacks *s, const struct vt_stack_module *module)
{
	/* Addresses may have a new meaning: a library in the place of an unloaded one. */
	vt_map_clear(&s->seen_native_frames);
	vt_vector_push(&s->modules, *module);
}

int vt_import_stacks_module(struct vt_import_stacks *s, const struct vt_module_record *r)
{
	uint32_t row = (uint32_t)s->modules.len + 1;
	struct vt_stack_module module = { r->start, r->end, r->path_len ? row : 0 };
	char build_id[2 * 64 + 1];

	vt_util_hex(build_id, r->bytes, r->build_id_len < 64 ? r->build_id_len : 64);
	remember_module(s, &module);
	vt_stmt_bind_int(s->module, 1, row);
	vt_stmt_bind_text_len(s->module, 2, r->bytes + r->build_id_len, (int)r->path_len);
	vt_stmt_bind_text(s->module, 3, build_id);
	vt_stmt_bind_int(s->module, 4, (int64_t)r->start);
	vt_stmt_bind_int(s->module, 5, (int64_t)r->end);
	vt_stmt_bind_int(s->module, 6, (int64_t)r->bias);
	return vt_stmt_step(s->module);
}

static void remember_code(struct vt_import_stacks *s, uint32_t id, const struct vt_stack_code *code)
{
	struct vt_stack_code copy = *code;

	copy.table = vt_xmalloc(code->table_len);
	if (code->table_len)
		memcpy(copy.table, code->table, code->table_len);
	vt_map_put(&s->code_places, (struct vt_key){ id, 0, 0 }, s->codes.len);
	vt_vector_push(&s->codes, copy);
}

static const struct vt_stack_code *find_code(const struct vt_import_stacks *s, uint32_t id)
{
	const uint64_t *place = vt_map_find(&s->code_places, (struct vt_key){ id, 0, 0 });

	return place ? &s->codes.items[*place] : NULL;
}

/* The id of the row with that key; *is_new if the caller must fill parameters 2.. and insert it. */
static uint64_t intern(struct vt_stack_rows *rows, struct vt_key key, int *is_new)
{
	const uint64_t *id = vt_map_find(&rows->ids, key);

	*is_new = !id;
	if (id)
		return *id;
	vt_map_put(&rows->ids, key, ++rows->last_id);
	vt_stmt_bind_int(rows->insert, 1, (int64_t)rows->last_id);
	return rows->last_id;
}

static int node_id(struct vt_stack_rows *nodes, uint64_t parent, uint64_t frame, uint64_t *id)
{
	int is_new;

	*id = intern(nodes, (struct vt_key){ parent, frame, 0 }, &is_new);
	if (!is_new)
		return 0;
	vt_stmt_bind_int(nodes->insert, 2, (int64_t)parent);
	vt_stmt_bind_int(nodes->insert, 3, (int64_t)frame);
	return vt_stmt_step(nodes->insert);
}

static int native_frame_id(struct vt_import_stacks *s, uint64_t address, uint64_t *id)
{
	const uint64_t *seen =
		vt_map_find(&s->seen_native_frames, (struct vt_key){ address, 0, 0 });
	uint32_t module;
	int is_new;

	if (seen) {
		*id = *seen;
		return 0;
	}
	module = vt_stack_modules_find(&s->modules, address);
	*id = intern(&s->native_frames, (struct vt_key){ address, module, 0 }, &is_new);
	vt_map_put(&s->seen_native_frames, (struct vt_key){ address, 0, 0 }, *id);
	if (!is_new)
		return 0;
	vt_stmt_bind_int(s->native_frames.insert, 2, (int64_t)address);
	bind_or_null(s->native_frames.insert, 3, module);
	return vt_stmt_step(s->native_frames.insert);
}

static int write_stack(struct vt_stmt *stmt, uint32_t id, uint64_t leaf, uint32_t depth)
{
	vt_stmt_bind_int(stmt, 1, id);
	vt_stmt_bind_int(stmt, 2, (int64_t)leaf);
	vt_stmt_bind_int(stmt, 3, depth);
	return vt_stmt_step(stmt);
}

int vt_import_stacks_native(struct vt_import_stacks *s, const struct vt_native_stack_record *r)
{
	uint64_t node = 0, frame;
	uint32_t is_cut = r->nr_frames && r->frames[r->nr_frames - 1] == VT_STACK_CUT;

	/* From the outermost frame inwards: shared callers become shared nodes. */
	for (uint32_t i = r->nr_frames; i-- > 0;)
		if (native_frame_id(s, r->frames[i], &frame) ||
		    node_id(&s->native_nodes, node, frame, &node))
			return -1;
	return write_stack(s->native_stack, r->id, node, r->nr_frames - is_cut);
}

static int64_t decode_line(const struct vt_stack_code *code, uint32_t instruction_bytes)
{
	return vt_python_lines_find(code->python_minor, code->table, code->table_len,
				    code->first_line, instruction_bytes);
}

static struct vt_key python_frame_key(uint32_t code, int64_t line, uint64_t self_type,
				      uint64_t self_address)
{
	return (struct vt_key){ (uint64_t)line, self_address, (uint64_t)code << 32 | self_type };
}

static int write_python_frame(struct vt_import_stacks *s, const struct vt_python_frame *frame,
			      int64_t line)
{
	struct vt_stmt *insert = s->python_frames.insert;

	vt_stmt_bind_int(insert, 2, frame->code);
	vt_stmt_bind_int(insert, 3, line);
	bind_or_null(insert, 4, frame->self_type);
	bind_or_null(insert, 5, frame->self_address);
	return vt_stmt_step(insert);
}

static int python_frame_id(struct vt_import_stacks *s, const struct vt_python_frame *frame,
			   uint64_t *id)
{
	struct vt_key raw = python_frame_key(frame->code, frame->instruction_bytes,
					     frame->self_type, frame->self_address);
	const uint64_t *seen = vt_map_find(&s->seen_python_frames, raw);
	const struct vt_stack_code *code;
	int64_t line;
	int is_new;

	if (seen) {
		*id = *seen;
		return 0;
	}
	code = find_code(s, frame->code);
	line = code ? decode_line(code, frame->instruction_bytes)
		    : -1 - (int64_t)frame->instruction_bytes;
	*id = intern(&s->python_frames,
		     python_frame_key(frame->code, line, frame->self_type, frame->self_address),
		     &is_new);
	if (code)
		vt_map_put(&s->seen_python_frames, raw, *id);
	else if (is_new)
		vt_vector_push(&s->undecoded, ((struct vt_stack_undecoded){ *id, *frame }));
	return is_new ? write_python_frame(s, frame, line) : 0;
}

/* Decodes the rows that have waited for this code object (S1). */
static int decode_waiting(struct vt_import_stacks *s, uint32_t id)
{
	const struct vt_stack_code *code = find_code(s, id);
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < s->undecoded.len; i++) {
		const struct vt_stack_undecoded *u = &s->undecoded.items[i];
		struct vt_key key;
		int64_t line;

		if (u->frame.code != id || rc) {
			s->undecoded.items[kept++] = *u;
			continue;
		}
		line = decode_line(code, u->frame.instruction_bytes);
		key = python_frame_key(id, line, u->frame.self_type, u->frame.self_address);
		if (!vt_map_find(&s->python_frames.ids, key))
			vt_map_put(&s->python_frames.ids, key, u->id);
		vt_stmt_bind_int(s->python_line, 1, (int64_t)u->id);
		vt_stmt_bind_int(s->python_line, 2, line);
		rc = vt_stmt_step(s->python_line);
	}
	s->undecoded.len = kept;
	return rc;
}

int vt_import_stacks_code(struct vt_import_stacks *s, const struct vt_python_code_record *r)
{
	const char *name = r->bytes + r->file_len, *table = name + r->name_len;
	struct vt_stack_code code = { r->first_line, r->python_minor, r->table_len,
				      (unsigned char *)(uintptr_t)table };

	if (find_code(s, r->id))
		return 0;
	remember_code(s, r->id, &code);
	vt_stmt_bind_int(s->line_table, 1, r->id);
	vt_stmt_bind_int(s->line_table, 2, r->python_minor);
	vt_stmt_bind_blob(s->line_table, 3, table, (int)r->table_len);
	vt_stmt_bind_int(s->code, 1, r->id);
	vt_stmt_bind_text_len(s->code, 2, r->bytes, (int)r->file_len);
	vt_stmt_bind_text_len(s->code, 3, name, (int)r->name_len);
	vt_stmt_bind_int(s->code, 4, r->first_line);
	if (vt_stmt_step(s->line_table) || vt_stmt_step(s->code))
		return -1;
	return decode_waiting(s, r->id);
}

int vt_import_stacks_python(struct vt_import_stacks *s, const struct vt_python_stack_record *r)
{
	uint64_t node = 0, frame;

	for (uint32_t i = r->nr_frames; i-- > 0;)
		if (python_frame_id(s, &r->frames[i], &frame) ||
		    node_id(&s->python_nodes, node, frame, &node))
			return -1;
	return write_stack(s->python_stack, r->id, node, r->nr_frames);
}

int vt_stack_modules_load(struct vt_stack_modules *modules, struct vt_db *db)
{
	struct vt_stmt *stmt =
		vt_db_prepare(db, "SELECT start, end, CASE path WHEN '' THEN 0 ELSE id END"
				  " FROM module ORDER BY id");
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_stack_module module = { (uint64_t)vt_stmt_int(stmt, 0),
						  (uint64_t)vt_stmt_int(stmt, 1),
						  (uint32_t)vt_stmt_int(stmt, 2) };

		vt_vector_push(modules, module);
	}
	vt_stmt_free(stmt);
	return rc;
}

static int load_codes(struct vt_import_stacks *s)
{
	struct vt_stmt *stmt =
		vt_db_prepare(s->db,
			      "SELECT id, first_line, python_minor, bytes"
			      " FROM python_code JOIN python_line_table ON code = id");
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		const void *table = vt_stmt_blob(stmt, 3);
		struct vt_stack_code code = { (uint32_t)vt_stmt_int(stmt, 1),
					      (uint32_t)vt_stmt_int(stmt, 2),
					      (uint32_t)vt_stmt_text_len(stmt, 3),
					      (unsigned char *)(uintptr_t)table };

		remember_code(s, (uint32_t)vt_stmt_int(stmt, 0), &code);
	}
	vt_stmt_free(stmt);
	return rc;
}

/* Rows of (id, key, key). */
static int load_rows(struct vt_import_stacks *s, struct vt_stack_rows *rows, const char *sql)
{
	struct vt_stmt *stmt = vt_db_prepare(s->db, sql);
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_key key = { (uint64_t)vt_stmt_int(stmt, 1),
				      (uint64_t)vt_stmt_int(stmt, 2), 0 };

		rows->last_id = (uint64_t)vt_stmt_int(stmt, 0);
		vt_map_put(&rows->ids, key, rows->last_id);
	}
	vt_stmt_free(stmt);
	return rc;
}

static void load_python_frame(struct vt_import_stacks *s, uint64_t id,
			      const struct vt_python_frame *frame, int64_t line)
{
	struct vt_key key =
		python_frame_key(frame->code, line, frame->self_type, frame->self_address);
	struct vt_stack_undecoded undecoded = { id, *frame };

	s->python_frames.last_id = id;
	/* Two frames that waited may have got the same line: the first is the one that is found. */
	if (!vt_map_find(&s->python_frames.ids, key))
		vt_map_put(&s->python_frames.ids, key, id);
	if (line >= 0)
		return;
	undecoded.frame.instruction_bytes = (uint32_t)(-1 - line);
	vt_vector_push(&s->undecoded, undecoded);
}

static int load_python_frames(struct vt_import_stacks *s)
{
	struct vt_stmt *stmt = vt_db_prepare(s->db,
					     "SELECT id, code, line, self_type, self_address"
					     " FROM python_frame ORDER BY id");
	struct vt_python_frame frame = { 0 };
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		frame.code = (uint32_t)vt_stmt_int(stmt, 1);
		frame.self_type = (uint32_t)vt_stmt_int(stmt, 3);
		frame.self_address = (uint64_t)vt_stmt_int(stmt, 4);
		load_python_frame(s, (uint64_t)vt_stmt_int(stmt, 0), &frame, vt_stmt_int(stmt, 2));
	}
	vt_stmt_free(stmt);
	return rc;
}

int vt_import_stacks_resume(struct vt_import_stacks *s)
{
	static const char frames[] =
		"SELECT id, address, ifnull(module, 0) FROM native_frame ORDER BY id";
	static const char native_nodes[] = "SELECT id, parent, frame FROM native_node ORDER BY id";
	static const char python_nodes[] = "SELECT id, parent, frame FROM python_node ORDER BY id";

	if (vt_stack_modules_load(&s->modules, s->db) || load_codes(s) || load_python_frames(s) ||
	    load_rows(s, &s->native_frames, frames) ||
	    load_rows(s, &s->native_nodes, native_nodes) ||
	    load_rows(s, &s->python_nodes, python_nodes))
		return -1;
	return 0;
}
