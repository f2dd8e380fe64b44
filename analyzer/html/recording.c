/* SPDX-License-Identifier: MIT */
#include "analyzer/html/recording.h"

#include <string.h>

#include "analyzer/html/answer.h"
#include "analyzer/html/beyond_blocks.h"
#include "analyzer/html/leak_rows.h"
#include "analyzer/html/oom_head.h"
#include "analyzer/html/pack.h"
#include "analyzer/html/rows.h"
#include "analyzer/html/stage_rows.h"
#include "analyzer/html/track.h"
#include "analyzer/model/when.h"

#define MOST_STACKS 20

static void begin(struct vt_analysis *analysis, void *context)
{
	struct vt_page_recording *recording = context;

	vt_report_begin(&recording->report, analysis, &recording->report_options);
}

static int judge(struct vt_page_recording *recording, struct vt_diag *diag)
{
	const struct vt_leaks_report_options leaks = {
		.device = VT_WHEN_ALL_DEVICES,
		.has_all_frames = recording->options->has_all_frames,
	};

	recording->report_options = (struct vt_report_options){
		.when = "peak",
		.device = VT_WHEN_ALL_DEVICES,
		.top = MOST_STACKS,
		.has_all_frames = recording->options->has_all_frames,
	};
	vt_analysis_judge_all(&recording->analysis, begin, recording);
	if (vt_report_finish(&recording->report, diag))
		return -1;
	return vt_leaks_report_init(&recording->leaks, &recording->analysis, &leaks, diag);
}

int vt_page_recording_open(struct vt_page_recording *recording,
			   const struct vt_page_recording_options *options, struct vt_diag *diag)
{
	int rc;

	memset(recording, 0, sizeof(*recording));
	recording->options = options;
	rc = vt_analysis_open_model(&recording->analysis, options->path, options->rules, diag);
	if (rc) {
		vt_analysis_close(&recording->analysis);
		return rc;
	}
	rc = judge(recording, diag);
	vt_sources_init(&recording->sources, &recording->analysis.model);
	vt_series_init(&recording->series, &recording->analysis);
	if (!rc)
		rc = vt_page_moments_init(&recording->moments, &recording->series,
					  &recording->report, options->when, diag);
	if (rc)
		vt_page_recording_close(recording);
	return rc;
}

void vt_page_recording_close(struct vt_page_recording *recording)
{
	vt_page_moments_release(&recording->moments);
	vt_series_release(&recording->series);
	vt_sources_release(&recording->sources);
	vt_leaks_report_release(&recording->leaks);
	vt_report_release(&recording->report);
	vt_analysis_close(&recording->analysis);
}

static struct vt_page_head head_of(struct vt_page_recording *recording, FILE *out)
{
	return (struct vt_page_head){ &recording->report, &recording->leaks.leaks,
				      &recording->sources, out, recording->options->heading };
}

char *vt_page_recording_program(const struct vt_page_recording *recording)
{
	return vt_page_head_program(&recording->report);
}

/* Elements with these ids are what the script fills. */
static void print_views(const struct vt_page_recording *recording, const struct vt_page_head *head)
{
	FILE *out = head->out;

	fputs("<section id=\"time\" hidden></section>\n"
	      "<section id=\"owners\"><h2>Owners</h2>\n",
	      out);
	vt_page_head_owners(head);
	fputs("</section>\n<section id=\"stacks\" hidden></section>\n"
	      "<section id=\"segments\" hidden></section>\n"
	      "<section id=\"lifetimes\" hidden></section>\n"
	      "<section id=\"findings\"><h2>Findings</h2>\n"
	      "<p class=\"note\">How much each change, applied alone, lowers the peak.</p>\n",
	      out);
	vt_page_head_findings(head);
	fputs("</section>\n", out);
	vt_leak_rows_print(&recording->leaks, head->sources, out);
	vt_stage_rows_print(&recording->report, out);
	vt_beyond_blocks_context(&recording->report, out);
}

void vt_page_recording_print(struct vt_page_recording *recording, FILE *out)
{
	const struct vt_page_head head = head_of(recording, out);

	fputs("<header>\n", out);
	vt_page_head_run(&head);
	fputs("</header>\n", out);
	if (recording->report.out_of_memory.oom)
		vt_oom_head_print(&head);
	else
		vt_answer_print(&head);
	vt_beyond_blocks_zeros(&recording->report, out);
	print_views(recording, &head);
}

/* The blocks behind the views of one moment. */
static void add_rows(struct vt_page_recording *recording, struct vt_pack *pack, json_t *object)
{
	struct vt_page_strings strings;
	struct vt_page_stacks stacks;
	struct vt_page_rows rows;

	vt_page_strings_init(&strings);
	vt_page_stacks_init(&stacks, &recording->report.describe, &recording->sources, &strings);
	vt_page_rows_init(&rows, &recording->moments, &stacks);
	vt_page_rows_json(&rows, &stacks, pack, object);
	vt_page_stacks_json(&stacks, pack, object);
	vt_page_rows_release(&rows);
	vt_page_stacks_release(&stacks);
	vt_page_strings_release(&strings);
}

int vt_page_recording_print_data(struct vt_page_recording *recording, FILE *out)
{
	struct vt_pack pack;
	json_t *object = json_object();
	int rc;

	vt_pack_init(&pack);
	json_object_set_new(object, "report", vt_report_json(&recording->report));
	json_object_set_new(object, "leaks", vt_leaks_report_json(&recording->leaks));
	json_object_set_new(object, "series", vt_series_json(&recording->series, &pack));
	vt_track_json(&recording->report, object);
	add_rows(recording, &pack, object);
	fputs("<script type=\"application/octet-stream\" class=\"data\">\n", out);
	rc = vt_pack_write(&pack, object, out);
	fputs("</script>\n", out);
	vt_pack_release(&pack);
	return rc;
}
