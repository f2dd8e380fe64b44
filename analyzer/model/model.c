/* SPDX-License-Identifier: MIT */
#include "analyzer/model/model.h"

#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/model/cells.h"
#include "analyzer/model/generated_calls.h"
#include "analyzer/model/generated_lines.h"

/* Of strings that are compared: of equal texts the first. */
static uint32_t string_at(const struct vt_model *model, struct vt_stmt *stmt, int column)
{
	return vt_string_table_first(&model->strings, vt_stmt_id(stmt, column));
}

static const char event_sql[] =
	"SELECT id, time_ns, op, address, size_bytes, extra, thread, kind FROM event ORDER BY id";

static void take_event(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_other_event *event = &model->events[model->nr_events++];

	event->event = vt_stmt_int(stmt, 0);
	event->time_ns = vt_stmt_int(stmt, 1) - model->start_time_ns;
	event->op = (uint8_t)vt_stmt_int(stmt, 2);
	event->address = (uint64_t)vt_stmt_int(stmt, 3);
	event->size_bytes = (uint64_t)vt_stmt_int(stmt, 4);
	event->extra = (uint64_t)vt_stmt_int(stmt, 5);
	event->thread = (uint32_t)vt_stmt_int(stmt, 6);
	event->kind = (uint8_t)vt_stmt_int(stmt, 7);
}

static const char mark_sql[] =
	"SELECT event, time_ns, thread, kind, source, name, python_stack FROM mark ORDER BY event";

static void take_mark(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_mark *mark = &model->marks[model->nr_marks++];

	mark->event = vt_stmt_int(stmt, 0);
	mark->time_ns = vt_stmt_int(stmt, 1) - model->start_time_ns;
	mark->thread = (uint32_t)vt_stmt_int(stmt, 2);
	mark->kind = (uint8_t)vt_stmt_int(stmt, 3);
	mark->source = (uint8_t)vt_stmt_int(stmt, 4);
	mark->name = vt_stmt_id(stmt, 5);
	mark->python_stack = vt_stmt_id(stmt, 6);
}

static const char oom_sql[] =
	"SELECT event, time_ns, thread, device, requested_bytes, allocated_bytes, reserved_bytes,"
	" native_stack, python_stack, scope, node_class, stream, grad,"
	" forward_python_stack FROM out_of_memory ORDER BY event";

static void take_oom(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_out_of_memory *oom = &model->ooms[model->nr_ooms++];

	oom->event = vt_stmt_int(stmt, 0);
	oom->time_ns = vt_stmt_int(stmt, 1) - model->start_time_ns;
	oom->thread = (uint32_t)vt_stmt_int(stmt, 2);
	oom->device = (int16_t)vt_stmt_int(stmt, 3);
	oom->requested_bytes = (uint64_t)vt_stmt_int(stmt, 4);
	oom->allocated_bytes = (uint64_t)vt_stmt_int(stmt, 5);
	oom->reserved_bytes = (uint64_t)vt_stmt_int(stmt, 6);
	oom->native_stack = vt_stmt_id(stmt, 7);
	oom->python_stack = vt_stmt_id(stmt, 8);
	oom->scope = vt_stmt_id(stmt, 9);
	oom->node_class = vt_stmt_id(stmt, 10);
	oom->stream = (uint64_t)vt_stmt_int(stmt, 11);
	oom->grad = vt_stmt_id(stmt, 12);
	oom->forward_python_stack = vt_stmt_id(stmt, 13);
}

static const char device_sql[] =
	"SELECT id, name, total_bytes, simulated, context_bytes FROM device ORDER BY id";

static void take_device(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_device *device = &model->devices[model->nr_devices++];
	const char *name = vt_stmt_text(stmt, 1);

	device->id = (int16_t)vt_stmt_int(stmt, 0);
	device->name = vt_printable_copy(name ? name : "?");
	device->total_bytes = (uint64_t)vt_stmt_int(stmt, 2);
	device->is_simulated = vt_stmt_int(stmt, 3) != 0;
	device->has_context = !vt_stmt_is_null(stmt, 4);
	device->context_bytes = (uint64_t)vt_stmt_int(stmt, 4);
}

static const char peak_sql[] =
	"SELECT event, device, used_bytes, max_allocated_event, max_allocated_bytes FROM peak"
	" ORDER BY device";

static void take_peak(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_peak *peak = &model->peaks[model->nr_peaks++];

	peak->event = vt_stmt_int(stmt, 0);
	peak->device = (int16_t)vt_stmt_int(stmt, 1);
	peak->used_bytes = (uint64_t)vt_stmt_int(stmt, 2);
	peak->max_allocated_event = vt_stmt_int(stmt, 3);
	peak->max_allocated_bytes = (uint64_t)vt_stmt_int(stmt, 4);
}

static const char probe_sql[] =
	"SELECT id, event, time_ns, duration_ns, reason FROM probe ORDER BY id";

static void take_probe(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_probe *probe = &model->probes[model->nr_probes++];

	probe->id = vt_stmt_id(stmt, 0);
	probe->event = vt_stmt_int(stmt, 1);
	probe->time_ns = vt_stmt_int(stmt, 2) - model->start_time_ns;
	probe->duration_ns = vt_stmt_int(stmt, 3);
	probe->reason = vt_stmt_id(stmt, 4);
}

static const char tensor_sql[] =
	"SELECT event, address, size_bytes, probe, name, holder, dtype, shape, device, role, flags"
	" FROM tensor ORDER BY event, id";

static void take_tensor(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_tensor *tensor = &model->tensors[model->nr_tensors++];

	tensor->event = vt_stmt_int(stmt, 0);
	tensor->address = (uint64_t)vt_stmt_int(stmt, 1);
	tensor->size_bytes = (uint64_t)vt_stmt_int(stmt, 2);
	tensor->probe = vt_stmt_id(stmt, 3);
	tensor->name = string_at(model, stmt, 4);
	tensor->holder = string_at(model, stmt, 5);
	tensor->dtype = string_at(model, stmt, 6);
	tensor->shape = string_at(model, stmt, 7);
	tensor->device = (int16_t)vt_stmt_int(stmt, 8);
	tensor->role = (uint8_t)vt_stmt_int(stmt, 9);
	tensor->flags = (uint8_t)vt_stmt_int(stmt, 10);
}

static const char module_sql[] = "SELECT event, address, root_address, probe, class, name, holder"
				 " FROM torch_module ORDER BY event, id";

static void take_module(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_torch_module *module = &model->modules[model->nr_modules++];

	module->event = vt_stmt_int(stmt, 0);
	module->address = (uint64_t)vt_stmt_int(stmt, 1);
	module->root_address = (uint64_t)vt_stmt_int(stmt, 2);
	module->probe = vt_stmt_id(stmt, 3);
	module->class_name = string_at(model, stmt, 4);
	module->name = string_at(model, stmt, 5);
	module->holder = string_at(model, stmt, 6);
}

static const char sample_sql[] =
	"SELECT time_ns, device, total_used_bytes, process_used_bytes FROM device_sample"
	" ORDER BY time_ns, device";

static void take_sample(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_device_sample *sample = &model->samples[model->nr_samples++];

	sample->time_ns = vt_stmt_int(stmt, 0) - model->start_time_ns;
	sample->device = (int16_t)vt_stmt_int(stmt, 1);
	sample->total_used_bytes = (uint64_t)vt_stmt_int(stmt, 2);
	sample->has_process = !vt_stmt_is_null(stmt, 3);
	sample->process_used_bytes = (uint64_t)vt_stmt_int(stmt, 3);
}

_Static_assert(VT_OP_MEMORY_INFO == 11 && VT_KIND_SEGMENT == 2, "the numbers below");
static const char info_sql[] = "SELECT time_ns, device, size_bytes, extra FROM event"
			       " WHERE op = 11 AND kind = 2 ORDER BY time_ns";

static void take_info(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_memory_info *info = &model->infos[model->nr_infos++];
	uint64_t total = (uint64_t)vt_stmt_int(stmt, 2),
		 free_bytes = (uint64_t)vt_stmt_int(stmt, 3);

	info->time_ns = vt_stmt_int(stmt, 0) - model->start_time_ns;
	info->device = (int16_t)vt_stmt_int(stmt, 1);
	info->used_bytes = total > free_bytes ? total - free_bytes : 0;
}

_Static_assert(VT_KIND_CONTEXT == 11 && VT_KIND_MODULE == 15 && VT_KIND_LIMIT == 16,
	       "the numbers below");
static const char context_sql[] =
	"SELECT id, time_ns, address, size_bytes, extra, native_stack, python_stack, device, op,"
	" kind FROM event WHERE kind IN (11, 15, 16) ORDER BY id";

static void take_context(struct vt_model *model, struct vt_stmt *stmt)
{
	struct vt_context_event *event = &model->context_events[model->nr_context_events++];

	event->event = vt_stmt_int(stmt, 0);
	event->time_ns = vt_stmt_int(stmt, 1) - model->start_time_ns;
	event->address = (uint64_t)vt_stmt_int(stmt, 2);
	event->size_bytes = (uint64_t)vt_stmt_int(stmt, 3);
	event->extra = (uint64_t)vt_stmt_int(stmt, 4);
	event->native_stack = vt_stmt_id(stmt, 5);
	event->python_stack = vt_stmt_id(stmt, 6);
	event->device = (int16_t)vt_stmt_int(stmt, 7);
	event->op = (uint8_t)vt_stmt_int(stmt, 8);
	event->kind = (uint8_t)vt_stmt_int(stmt, 9);
}

struct table {
	const char *name;
	const char *sql;
	size_t array;
	size_t count;
	size_t item_size;
	void (*take)(struct vt_model *, struct vt_stmt *);
};

#define TABLE(table, stem, array, count)                                                           \
	{                                                                                          \
		table, stem##_sql, offsetof(struct vt_model, array),                               \
			offsetof(struct vt_model, count), sizeof(*((struct vt_model *)0)->array),  \
			take_##stem                                                                \
	}

static const struct table tables[] = {
	/* What is known of devices. */
	TABLE("device", device, devices, nr_devices),
	TABLE("peak", peak, peaks, nr_peaks),
	TABLE("device_sample", sample, samples, nr_samples),
	TABLE("event", info, infos, nr_infos),
#define NR_DEVICE_TABLES 4
	TABLE("event", event, events, nr_events),
	TABLE("event", context, context_events, nr_context_events),
	TABLE("mark", mark, marks, nr_marks),
	TABLE("out_of_memory", oom, ooms, nr_ooms),
	TABLE("probe", probe, probes, nr_probes),
	TABLE("tensor", tensor, tensors, nr_tensors),
	TABLE("torch_module", module, modules, nr_modules),
};

static int load_table(struct vt_model *model, const struct table *t, struct vt_diag *diag)
{
	uint32_t *count = (uint32_t *)((char *)model + t->count);
	int64_t rows = vt_db_count(model->db, t->name);
	struct vt_stmt *stmt;
	int rc;

	if (rows < 0) {
		vt_db_diag(model->db, diag);
		return -1;
	}
	if (rows >= VT_MOST_ROWS) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: too many rows in table %s",
			    vt_db_path(model->db), t->name);
		return -1;
	}
	*(void **)((char *)model + t->array) = vt_xcalloc((size_t)rows + 1, t->item_size);
	stmt = vt_db_prepare(model->db, t->sql);
	while ((rc = vt_stmt_step(stmt)) == 1 && *count < rows)
		t->take(model, stmt);
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(model->db, diag);
	return rc < 0 ? -1 : 0;
}

static void find_last_event(struct vt_model *model)
{
	int64_t last = 0;

#define LATER(event) last = (event) > last ? (event) : last
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		LATER(model->allocations[i].event);
		if (model->allocations[i].freed_event != VT_NEVER)
			LATER(model->allocations[i].freed_event);
	}
	if (model->nr_events)
		LATER(model->events[model->nr_events - 1].event);
	if (model->nr_marks)
		LATER(model->marks[model->nr_marks - 1].event);
	if (model->nr_ooms)
		LATER(model->ooms[model->nr_ooms - 1].event);
#undef LATER
	model->last_event = last;
}

/* A recording that was cut off early may know a device only by its memory. */
static void name_unknown_devices(struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_peaks; i++) {
		struct vt_device *device;

		if (vt_model_device(model, model->peaks[i].device))
			continue;
		model->devices = vt_xrealloc(model->devices,
					     (model->nr_devices + 1) * sizeof(*model->devices));
		device = &model->devices[model->nr_devices++];
		memset(device, 0, sizeof(*device));
		device->id = model->peaks[i].device;
		device->name = vt_xstrdup("unknown device");
	}
}

static int load_allocations(struct vt_model *model, enum vt_allocation_choice choice,
			    struct vt_diag *diag)
{
	struct vt_allocation_rows rows;
	int rc = vt_allocation_rows_load(model->db, choice, model->start_time_ns, &rows, diag);

	model->allocations = rows.items;
	model->nr_allocations = rows.nr;
	model->times = rows.times;
	model->callers = rows.callers;
	model->commons = rows.commons;
	model->nr_commons = rows.nr_commons;
	return rc;
}

static int load_tables(struct vt_model *model, size_t nr, struct vt_diag *diag)
{
	for (size_t i = 0; i < nr; i++)
		if (load_table(model, &tables[i], diag))
			return -1;
	return 0;
}

static int load_device_use(struct vt_model *model, struct vt_diag *diag)
{
	return load_tables(model, NR_DEVICE_TABLES, diag) ||
			       load_allocations(model, VT_ALLOCATIONS_DRIVER, diag)
		       ? -1
		       : 0;
}

static int load_all(struct vt_model *model, struct vt_diag *diag)
{
	if (vt_string_table_load(&model->strings, model->db, diag) ||
	    vt_frames_load(&model->frames, model->db, diag) ||
	    vt_cells_name(&model->frames, model->db, diag))
		return -1;
	for (uint32_t i = 0; i < model->frames.nr_python; i++) {
		struct vt_frame_python *frame = &model->frames.python[i];

		frame->self_type = vt_string_table_first(&model->strings, frame->self_type);
	}
	if (load_tables(model, VT_ARRAY_SIZE(tables), diag) ||
	    load_allocations(model, VT_ALLOCATIONS_ALL, diag))
		return -1;
	if (vt_operator_calls_load(&model->calls, model->db, &model->strings, model->allocations,
				   model->nr_allocations, diag))
		return -1;
	if (vt_generated_calls_add(&model->calls, model->db, &model->frames, &model->strings,
				   model->allocations, model->nr_allocations, diag))
		return -1;
	/* What needs the lines of generated files has read them. */
	return vt_generated_lines_apply(&model->frames, model->db, diag);
}

static int load(struct vt_model *model, struct vt_db *db,
		int (*load_part)(struct vt_model *, struct vt_diag *), struct vt_diag *diag)
{
	int rc;

	memset(model, 0, sizeof(*model));
	model->db = db;
	/* One snapshot for all tables: a collector may be adding rows. */
	if (vt_db_exec(db, "BEGIN")) {
		vt_db_diag(db, diag);
		return -1;
	}
	model->start_time_ns = vt_db_run_get_int(db, "start_time_ns", -1);
	if (model->start_time_ns < 0)
		model->start_time_ns = vt_db_query_int(
			db,
			"SELECT min(time_ns) FROM (SELECT time_ns FROM allocation WHERE id ="
			" (SELECT min(id) FROM allocation_row) UNION ALL SELECT time_ns FROM event"
			" WHERE id = (SELECT min(id) FROM event))",
			0);
	rc = load_part(model, diag);
	if (!rc && vt_folded_load(&model->folded, db)) {
		vt_db_diag(db, diag);
		rc = -1;
	}
	vt_db_rollback(db);
	if (rc)
		return rc;
	find_last_event(model);
	name_unknown_devices(model);
	return 0;
}

int vt_model_load(struct vt_model *model, struct vt_db *db, struct vt_diag *diag)
{
	return load(model, db, load_all, diag);
}

int vt_model_load_device_use(struct vt_model *model, struct vt_db *db, struct vt_diag *diag)
{
	return load(model, db, load_device_use, diag);
}

void vt_model_release(struct vt_model *model)
{
	for (uint32_t i = 0; model->devices && i < model->nr_devices; i++)
		free(model->devices[i].name);
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++)
		free(*(void **)((char *)model + tables[i].array));
	vt_folded_release(&model->folded);
	free(model->roundings);
	free(model->allocations);
	vt_allocation_times_release(&model->times);
	vt_callers_release(&model->callers);
	vt_interned_release(&model->commons);
	vt_operator_calls_release(&model->calls);
	free(model->segments);
	free(model->spills);
	free(model->captures);
	free(model->pool_changes);
	vt_frames_release(&model->frames);
	vt_string_table_release(&model->strings);
	memset(model, 0, sizeof(*model));
}

int64_t vt_model_made_ns(const struct vt_model *model, const struct vt_allocation *a)
{
	return vt_allocation_times_made(&model->times, (uint32_t)(a - model->allocations));
}

int64_t vt_model_freed_ns(const struct vt_model *model, const struct vt_allocation *a)
{
	return vt_allocation_times_freed(&model->times, (uint32_t)(a - model->allocations));
}

const struct vt_device *vt_model_device(const struct vt_model *model, int device)
{
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (model->devices[i].id == device)
			return &model->devices[i];
	return NULL;
}

const struct vt_peak *vt_model_peak(const struct vt_model *model, int device)
{
	for (uint32_t i = 0; i < model->nr_peaks; i++)
		if (model->peaks[i].device == device)
			return &model->peaks[i];
	return NULL;
}

uint64_t vt_model_most_allocated(const struct vt_peak *peak)
{
	return peak->max_allocated_bytes ? peak->max_allocated_bytes : peak->used_bytes;
}

void vt_model_each_common(const struct vt_model *model,
			  void (*tell)(void *context, const void *common), void *context)
{
	vt_interned_each(&model->commons, sizeof(struct vt_allocation_common), tell, context);
}

const char *vt_model_text(const struct vt_model *model, uint32_t string)
{
	return vt_string_table_get(&model->strings, string);
}
