/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/export/gzip.h"
#include "analyzer/export/protobuf.h"
#include "analyzer/export/sites.h"

/*
 * A profile of pprof (google/pprof's profile.proto, compressed): blocks and bytes in use by frames,
 * with labels for owner, stage and device.  Each function is a line, and so a location.
 */

enum profile {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	TIME_NS = 9,
	COMMENT = 13,
	DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type { TYPE = 1, UNIT = 2 };
enum sample { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum location { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum line { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

struct profiling {
	struct vt_writer_job *job;
	struct vt_export_sites sites;
	struct vt_buffer profile, inner, value;
	struct vt_map strings; /* hash: number */
	uint64_t nr_strings;
};

static uint64_t string(struct profiling *p, const char *text)
{
	struct vt_key key = { .a = vt_hash_text(text, strlen(text)) };
	const uint64_t *known = vt_map_find(&p->strings, key);

	if (known)
		return *known;
	vt_protobuf_text(&p->profile, STRING, text);
	vt_map_put(&p->strings, key, p->nr_strings);
	return p->nr_strings++;
}

static void put_sample_type(struct profiling *p, const char *type, const char *unit)
{
	vt_protobuf_number(&p->inner, TYPE, string(p, type));
	vt_protobuf_number(&p->inner, UNIT, string(p, unit));
	vt_protobuf_message(&p->profile, SAMPLE_TYPE, &p->inner);
}

static void put_label(struct profiling *p, const char *key, const char *text)
{
	vt_protobuf_number(&p->value, LABEL_KEY, string(p, key));
	vt_protobuf_number(&p->value, LABEL_TEXT, string(p, text));
	vt_protobuf_message(&p->inner, SAMPLE_LABEL, &p->value);
}

static void put_site(struct profiling *p, const struct vt_export_site *site)
{
	uint64_t *locations = vt_xcalloc(site->nr_frames + 1u, sizeof(*locations));
	const uint64_t values[] = { site->blocks, site->bytes };
	char device[16];

	for (uint32_t i = 0; i < site->nr_frames; i++)
		locations[i] = site->frames[i] + 1u;
	vt_protobuf_packed(&p->inner, SAMPLE_LOCATIONS, locations, site->nr_frames);
	vt_protobuf_packed(&p->inner, SAMPLE_VALUES, values, VT_ARRAY_SIZE(values));
	put_label(p, "owner", site->owner);
	if (*site->stage)
		put_label(p, "stage", site->stage);
	put_label(p, "device", vt_writer_device_name(device, site->device));
	vt_protobuf_message(&p->profile, SAMPLE, &p->inner);
	free(locations);
}

static void put_frame(struct profiling *p, uint64_t id, const struct vt_export_frame *frame)
{
	vt_protobuf_number(&p->inner, FUNCTION_ID, id);
	vt_protobuf_number(&p->inner, FUNCTION_NAME, string(p, frame->name));
	vt_protobuf_number(&p->inner, FUNCTION_FILE, string(p, frame->file));
	vt_protobuf_message(&p->profile, FUNCTION, &p->inner);
	vt_protobuf_number(&p->value, LINE_FUNCTION, id);
	vt_protobuf_number(&p->value, LINE_NUMBER, frame->line);
	vt_protobuf_number(&p->inner, LOCATION_ID, id);
	vt_protobuf_message(&p->inner, LOCATION_LINE, &p->value);
	vt_protobuf_message(&p->profile, LOCATION, &p->inner);
}

static void fill(struct profiling *p)
{
	struct vt_writer_job *job = p->job;
	char *program = vt_writer_program(job);

	string(p, "");
	put_sample_type(p, "inuse_objects", "count");
	put_sample_type(p, "inuse_space", "bytes");
	vt_protobuf_number(&p->profile, DEFAULT_SAMPLE_TYPE, string(p, "inuse_space"));
	vt_protobuf_number(&p->profile, COMMENT, string(p, program));
	vt_protobuf_number(
		&p->profile, TIME_NS,
		(uint64_t)(vt_db_run_get_int(job->analysis->db, "start_realtime_ns", 0) +
			   vt_timeline_time(&job->analysis->timeline, job->event)));
	for (size_t i = 0; i < p->sites.sites.len; i++)
		put_site(p, &p->sites.sites.items[i]);
	for (size_t i = 0; i < p->sites.frames.len; i++)
		put_frame(p, i + 1, &p->sites.frames.items[i]);
	free(program);
}

void vt_write_pprof(struct vt_writer_job *job)
{
	struct profiling p = { .job = job };
	FILE *out = vt_gzip_open(job->out);

	vt_export_sites_init(&p.sites, job);
	fill(&p);
	fwrite(p.profile.data, 1, p.profile.len, out);
	fclose(out);
	vt_map_release(&p.strings);
	vt_buffer_release(&p.profile);
	vt_buffer_release(&p.inner);
	vt_buffer_release(&p.value);
	vt_export_sites_release(&p.sites);
}
