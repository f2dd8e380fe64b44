/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/runs.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/* Inputs to tell of; a program that calls its model with more has them in a dictionary. */
#define MOST_INPUTS 8

/* Takes the texts; keeps a row only where they differ. */
static void add(struct vt_runs *runs, const char *what, char *base, char *new)
{
	struct vt_runs_row row = { .text = { vt_printable_make(base), vt_printable_make(new) } };

	if ((!base && !new) || (base && new && !strcmp(base, new))) {
		free(base);
		free(new);
		return;
	}
	row.what = vt_printable_copy(what);
	runs->rows = vt_xrealloc(runs->rows, (runs->nr + 1) * sizeof(*runs->rows));
	runs->rows[runs->nr++] = row;
}

/* As it was typed, but where the interpreter lies. */
static char *command_of(struct vt_db *db)
{
	char *text = vt_db_run_get(db, "command");
	json_t *command = text ? json_loads(text, 0, NULL) : NULL;
	struct vt_buffer joined;

	vt_buffer_init(&joined);
	for (size_t i = 0; i < json_array_size(command); i++) {
		const char *word = json_string_value(json_array_get(command, i));

		vt_buffer_printf(&joined, "%s%s", i ? " " : "",
				 !word ? "?" : i ? word : vt_util_base_name(word));
	}
	json_decref(command);
	free(text);
	return joined.len ? vt_buffer_detach(&joined) : NULL;
}

static void add_key(struct vt_runs *runs, struct vt_analysis *const *sides, const char *key,
		    const char *what)
{
	add(runs, what, vt_db_run_get(sides[0]->db, key), vt_db_run_get(sides[1]->db, key));
}

/* What an older one lacks is empty: it may explain what only one of them knows. */
static void add_schema(struct vt_runs *runs, struct vt_analysis *const *sides)
{
	char *texts[2];

	for (int i = 0; i < 2; i++)
		texts[i] = vt_xasprintf("%" PRId64, vt_db_query_int(sides[i]->db,
								    "PRAGMA user_version", 0));
	add(runs, "schema", texts[0], texts[1]);
}

static void add_count(struct vt_runs *runs, struct vt_analysis *const *sides, const char *key,
		      const char *what)
{
	char *texts[2];

	for (int i = 0; i < 2; i++)
		texts[i] = vt_xasprintf("%" PRId64, vt_db_run_get_int(sides[i]->db, key, 0));
	add(runs, what, texts[0], texts[1]);
}

static void add_settings_of(struct vt_runs *runs, struct vt_analysis *const *sides, int side)
{
	static const char prefix[] = "env:";
	struct vt_stmt *stmt = vt_db_prepare(
		sides[side]->db, "SELECT key FROM run WHERE key GLOB 'env:*' ORDER BY key");

	while (vt_stmt_step(stmt) == 1) {
		const char *key = vt_stmt_text(stmt, 0);
		char *in_base = vt_db_run_get(sides[0]->db, key);

		/* Those of both were told with the base's. */
		if (!side || !in_base)
			add_key(runs, sides, key, key + strlen(prefix));
		free(in_base);
	}
	vt_stmt_free(stmt);
}

static char *device_of(const struct vt_analysis *side, uint32_t index)
{
	char size[VT_UNITS_MAX];
	const struct vt_device *device;

	if (index >= side->model.nr_devices)
		return NULL;
	device = &side->model.devices[index];
	return vt_xasprintf("%s, %s", device->name,
			    vt_units_bytes(size, sizeof(size), device->total_bytes));
}

static void add_devices(struct vt_runs *runs, struct vt_analysis *const *sides)
{
	uint32_t nr = sides[0]->model.nr_devices;

	if (sides[1]->model.nr_devices > nr)
		nr = sides[1]->model.nr_devices;
	for (uint32_t i = 0; i < nr; i++) {
		char *what = vt_xasprintf("device %u", i);

		add(runs, what, device_of(sides[0], i), device_of(sides[1], i));
		free(what);
	}
}

/* Asked of the database: of the model little may be left. */
static char *stacks_of(const struct vt_analysis *side)
{
	static const char python[] = "SELECT count(*) FROM allocation_made WHERE python_stack > 0";
	static const char native[] = "SELECT count(*) FROM allocation_made WHERE native_stack > 0";
	int has_python = vt_db_query_int(side->db, python, 0) > 0;
	int has_native = vt_db_query_int(side->db, native, 0) > 0;

	return vt_xstrdup(has_python && has_native ? "Python, native"
			  : has_python             ? "Python"
			  : has_native             ? "native"
						   : "none");
}

/* The last one of that name in the other run. */
static const struct vt_tensor *find_input(const struct vt_model *model, const char *name,
					  const char *holder)
{
	for (uint32_t i = model->nr_tensors; i-- > 0;) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *its_name = vt_model_text(model, tensor->name);
		const char *its_holder = vt_model_text(model, tensor->holder);

		if (tensor->role == VT_ROLE_INPUT && its_name && its_holder &&
		    !strcmp(its_name, name) && !strcmp(its_holder, holder))
			return tensor;
	}
	return NULL;
}

static char *shape_of(const struct vt_model *model, const struct vt_tensor *tensor)
{
	const char *shape = vt_model_text(model, tensor->shape);
	const char *dtype = vt_model_text(model, tensor->dtype);

	return vt_xasprintf("%s %s", shape ? shape : "scalar", dtype ? dtype : "");
}

static int is_told(const struct vt_runs *runs, const char *what)
{
	for (uint32_t i = 0; i < runs->nr; i++)
		if (!strcmp(runs->rows[i].what, what))
			return 1;
	return 0;
}

/* Arguments of the outermost modules; only those that both runs have. */
static void add_inputs(struct vt_runs *runs, struct vt_analysis *const *sides)
{
	const struct vt_model *base = &sides[0]->model, *new = &sides[1]->model;
	uint32_t before = runs->nr;

	for (uint32_t i = base->nr_tensors; i-- > 0 && runs->nr - before < MOST_INPUTS;) {
		const struct vt_tensor *tensor = &base->tensors[i], *other;
		const char *name = vt_model_text(base, tensor->name);
		const char *holder = vt_model_text(base, tensor->holder);
		char *what;

		if (tensor->role != VT_ROLE_INPUT || !name || !holder)
			continue;
		other = find_input(new, name, holder);
		what = vt_xasprintf("input %s of %s", name, holder);
		if (other && !is_told(runs, what))
			add(runs, what, shape_of(base, find_input(base, name, holder)),
			    shape_of(new, other));
		free(what);
	}
}

void vt_runs_init(struct vt_runs *runs, struct vt_analysis *const *sides)
{
	memset(runs, 0, sizeof(*runs));
	add(runs, "command", command_of(sides[0]->db), command_of(sides[1]->db));
	add_key(runs, sides, "python", "python");
	add_key(runs, sides, "torch", "torch");
	add_key(runs, sides, "recorder", "recorder");
	add_schema(runs, sides);
	add_key(runs, sides, "ended", "ended");
	add_count(runs, sides, "lost_events", "lost events");
	add_count(runs, sides, "torn_records", "torn records");
	add_count(runs, sides, "missing_slots", "missing slots of the journal");
	add_devices(runs, sides);
	add_settings_of(runs, sides, 0);
	add_settings_of(runs, sides, 1);
	add(runs, "stacks", stacks_of(sides[0]), stacks_of(sides[1]));
	add_inputs(runs, sides);
}

void vt_runs_release(struct vt_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr; i++) {
		free(runs->rows[i].what);
		free(runs->rows[i].text[0]);
		free(runs->rows[i].text[1]);
	}
	free(runs->rows);
	memset(runs, 0, sizeof(*runs));
}
