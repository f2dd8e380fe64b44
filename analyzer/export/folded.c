/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "analyzer/base/util.h"
#include "analyzer/export/sites.h"

/*
 * Folded stacks: "ROOT;...;LEAF BYTES" a line, as flamegraph.pl and its kind read them.  Paths with
 * the same frames are added up by the reader.
 */

/* A frame ends at a semicolon. */
static void put_text(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == ';' ? ',' : *text, out);
}

static void put_frame(const struct vt_export_frame *frame, FILE *out)
{
	put_text(frame->name, out);
	if (!*frame->file)
		return;
	fputs(" (", out);
	put_text(frame->file, out);
	fprintf(out, ":%u)", frame->line);
}

void vt_write_folded(struct vt_writer_job *job)
{
	struct vt_export_sites sites;
	char device[16];

	vt_export_sites_init(&sites, job);
	for (size_t i = 0; i < sites.sites.len; i++) {
		const struct vt_export_site *site = &sites.sites.items[i];

		fputs(vt_writer_device_name(device, site->device), job->out);
		for (uint32_t f = site->nr_frames; f-- > 0;) {
			fputc(';', job->out);
			put_frame(&sites.frames.items[site->frames[f]], job->out);
		}
		fprintf(job->out, " %" PRIu64 "\n", site->bytes);
	}
	vt_export_sites_release(&sites);
}
