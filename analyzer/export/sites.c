/* SPDX-License-Identifier: MIT */
#include "analyzer/export/sites.h"

#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

VT_VECTOR_DECLARE(numbers, uint32_t);

struct adding {
	struct vt_export_sites *sites;
	struct vt_writer_job *job;
	struct numbers frames; /* of the block that is being added, the leaf first */
};

static void add_frame(struct adding *adding, const char *name, size_t len, const char *file,
		      uint32_t line)
{
	struct vt_key key = { vt_hash_text(name, len), vt_hash_text(file, strlen(file)), line };
	const uint64_t *known = vt_map_find(&adding->sites->known_frames, key);
	struct vt_export_frame frame = { .line = line };
	uint32_t number = known ? (uint32_t)*known : (uint32_t)adding->sites->frames.len;

	if (!known) {
		frame.name = vt_xstrndup(name, len);
		frame.file = vt_xstrdup(file);
		vt_map_put(&adding->sites->known_frames, key, number);
		vt_vector_push(&adding->sites->frames, frame);
	}
	vt_vector_push(&adding->frames, number);
}

static void add_word(struct adding *adding, const char *word)
{
	add_frame(adding, word, strlen(word), "", 0);
}

/* The parts of a path, the last one first. */
static void add_path(struct adding *adding, const char *path, char separator)
{
	size_t end = strlen(path);

	while (end) {
		size_t begin = end;

		while (begin && path[begin - 1] != separator)
			begin--;
		add_frame(adding, path + begin, end - begin, "", 0);
		end = begin ? begin - 1 : 0;
	}
}

static void add_native(struct adding *adding, uint32_t stack)
{
	struct vt_lines lines = vt_describe_native(&adding->job->describe, stack);

	for (unsigned i = 0; i < lines.nr; i++)
		add_word(adding, lines.text[i]);
	if (!lines.nr)
		add_word(adding, "[no stack]");
	vt_lines_free(&lines);
}

static void add_stack(struct adding *adding, const struct vt_allocation *a)
{
	const struct vt_describe *describe = &adding->job->describe;
	const struct vt_frames *frames = &describe->model->frames;
	uint32_t stack = vt_producer_stack(describe->model, a);
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(describe, stack, ids);

	if (nr && stack != a->common->made->python_stack)
		add_word(adding, "[backward]");
	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);

		add_frame(adding, code->name, strlen(code->name),
			  vt_describe_file(describe, code->file), frames->python[ids[i]].line);
	}
	if (!nr)
		add_native(adding, a->common->made->native_stack);
}

static void add_module(struct adding *adding, const struct vt_allocation *a, const char *owner)
{
	char *module = vt_module_path_module(&adding->job->analysis->facts, a);

	add_word(adding, owner);
	if (module && *module)
		add_path(adding, module, '.');
	else
		add_word(adding, module ? "[the model itself]" : "[no module]");
	free(module);
}

static void add_block(struct adding *adding, uint32_t index)
{
	struct vt_analysis *analysis = adding->job->analysis;
	const struct vt_allocation *a = &analysis->model.allocations[index];
	struct vt_verdict verdict = vt_attribution_judge(&analysis->attribution, index);
	const struct vt_span *span = vt_facts_span(&analysis->facts, a);
	struct vt_export_site site = {
		.device = a->common->device,
		.owner = vt_attribution_owner(&analysis->attribution, verdict.owner),
		.stage = span ? vt_evidence_stages[span->stage] : "",
	};
	struct vt_key key = { (uint64_t)a->common->device, verdict.owner,
			      span ? span->stage + 1u : 0 };
	const uint64_t *known;
	char *path;

	adding->frames.len = 0;
	if (adding->job->by == VT_WRITER_BY_STACK) {
		add_stack(adding, a);
	} else if (adding->job->by == VT_WRITER_BY_MODULE) {
		add_module(adding, a, site.owner);
	} else {
		path = vt_attribution_path(&analysis->attribution, index);
		add_path(adding, path, '/');
		free(path);
	}
	for (size_t i = 0; i < adding->frames.len; i++)
		key.c = vt_hash_mix(key.c, adding->frames.items[i]);
	known = vt_map_find(&adding->sites->known_sites, key);
	if (!known) {
		site.nr_frames = (uint32_t)adding->frames.len;
		site.frames = vt_xcalloc(site.nr_frames + 1u, sizeof(*site.frames));
		memcpy(site.frames, adding->frames.items, site.nr_frames * sizeof(*site.frames));
		vt_map_put(&adding->sites->known_sites, key, adding->sites->sites.len);
		vt_vector_push(&adding->sites->sites, site);
		known = vt_map_find(&adding->sites->known_sites, key);
	}
	adding->sites->sites.items[*known].bytes += a->common->size_bytes;
	adding->sites->sites.items[*known].blocks++;
}

void vt_export_sites_init(struct vt_export_sites *sites, struct vt_writer_job *job)
{
	const struct vt_model *model = &job->analysis->model;
	struct adding adding = { .sites = sites, .job = job };

	memset(sites, 0, sizeof(*sites));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (vt_allocation_is_owned(a) && vt_allocation_is_live(a, job->event) &&
		    vt_writer_has_device(job, a->common->device))
			add_block(&adding, i);
	}
	vt_vector_release(&adding.frames);
}

void vt_export_sites_release(struct vt_export_sites *sites)
{
	for (size_t i = 0; i < sites->frames.len; i++) {
		free(sites->frames.items[i].name);
		free(sites->frames.items[i].file);
	}
	for (size_t i = 0; i < sites->sites.len; i++)
		free(sites->sites.items[i].frames);
	vt_vector_release(&sites->frames);
	vt_vector_release(&sites->sites);
	vt_map_release(&sites->known_frames);
	vt_map_release(&sites->known_sites);
}
