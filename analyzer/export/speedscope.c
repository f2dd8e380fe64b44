/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "analyzer/base/util.h"
#include "analyzer/export/sites.h"
#include "analyzer/output/json.h"

/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): a profile of bytes
 * for each device, one sample for each path of frames.
 */

struct profiling {
	struct vt_writer_job *job;
	struct vt_export_sites sites;
};

/* The frames of each path of a device, or its bytes; returns the sum of those. */
static uint64_t put_samples(const struct profiling *p, int device, int has_weights)
{
	FILE *out = p->job->out;
	const char *comma = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < p->sites.sites.len; i++) {
		const struct vt_export_site *site = &p->sites.sites.items[i];

		if (site->device != device)
			continue;
		fputs(comma, out);
		comma = ",";
		sum += site->bytes;
		if (has_weights) {
			fprintf(out, "%" PRIu64, site->bytes);
			continue;
		}
		for (uint32_t f = site->nr_frames; f-- > 0;)
			fprintf(out, "%c%u", f + 1 == site->nr_frames ? '[' : ',', site->frames[f]);
		fputc(']', out);
	}
	return sum;
}

static int has_sites(const struct profiling *p, int device)
{
	for (size_t i = 0; i < p->sites.sites.len; i++)
		if (p->sites.sites.items[i].device == device)
			return 1;
	return 0;
}

static void put_profiles(const struct profiling *p)
{
	const struct vt_model *model = &p->job->analysis->model;
	FILE *out = p->job->out;
	const char *comma = "";
	char device[16];

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		int id = model->devices[i].id;
		uint64_t sum;

		if (!has_sites(p, id))
			continue;
		fprintf(out,
			"%s\n{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"bytes\","
			"\"samples\":[",
			comma, vt_writer_device_name(device, id));
		comma = ",";
		put_samples(p, id, 0);
		fputs("],\n\"weights\":[", out);
		sum = put_samples(p, id, 1);
		fprintf(out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
	}
}

static void put_frames(const struct profiling *p)
{
	FILE *out = p->job->out;

	for (size_t i = 0; i < p->sites.frames.len; i++) {
		const struct vt_export_frame *frame = &p->sites.frames.items[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		vt_json_put_text(frame->name, out);
		if (*frame->file) {
			fputs(",\"file\":", out);
			vt_json_put_text(frame->file, out);
			fprintf(out, ",\"line\":%u", frame->line);
		}
		fputc('}', out);
	}
}

void vt_write_speedscope(struct vt_writer_job *job)
{
	struct profiling p = { .job = job };
	char *program = vt_writer_program(job);

	vt_export_sites_init(&p.sites, job);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
	      "\"exporter\":\"vtrace@" VTRACE_VERSION "\",\"name\":",
	      job->out);
	vt_json_put_text(program, job->out);
	fputs(",\"activeProfileIndex\":0,\"profiles\":[", job->out);
	put_profiles(&p);
	fputs("],\n\"shared\":{\"frames\":[", job->out);
	put_frames(&p);
	fputs("]}}\n", job->out);
	vt_export_sites_release(&p.sites);
	free(program);
}
