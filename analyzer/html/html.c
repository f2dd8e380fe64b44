/* SPDX-License-Identifier: MIT */
#include "analyzer/html/html.h"

#include <string.h>

#include "analyzer/base/embedded.h"
#include "analyzer/html/head.h"
#include "analyzer/html/oom_head.h"
#include "analyzer/html/pack.h"
#include "analyzer/html/rows.h"
#include "analyzer/html/track.h"

int vt_html_check(struct vt_diag *diag)
{
	if (*vt_embedded_page_script)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "this vtrace was built without esbuild or D3, which `vtrace html` needs;"
		    " install esbuild and node-d3 (scripts/deps) and build again");
	return -1;
}

/* Nothing from outside is loaded, and no script runs but the two of this file. */
static void print_policy(FILE *out)
{
	fprintf(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
		" script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n",
		vt_embedded_page_script_hash, vt_embedded_page_style_hash);
}

static void print_head(const struct vt_page_head *head)
{
	FILE *out = head->out;

	fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n", out);
	print_policy(out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"vtrace " VTRACE_VERSION "\">\n<title>",
	      out);
	vt_page_head_title(head);
	fprintf(out, "</title>\n<style>%s</style>\n<body>\n<header>\n", vt_embedded_page_style);
	vt_page_head_run(head);
	fputs("</header>\n<main>\n", out);
	vt_oom_head_print(&head->report->out_of_memory, head->sources, out);
	vt_page_head_answer(head);
}

/* Elements with these ids are what the script fills. */
static void print_views(const struct vt_page_head *head)
{
	FILE *out = head->out;

	fputs("<section id=\"time\" hidden></section>\n"
	      "<section id=\"owners\"><h2>Owners</h2>\n",
	      out);
	vt_page_head_owners(head);
	fputs("</section>\n<section id=\"stacks\" hidden></section>\n"
	      "<section id=\"segments\" hidden></section>\n"
	      "<section id=\"lifetimes\" hidden></section>\n"
	      "<section id=\"stages\" hidden></section>\n"
	      "<section id=\"findings\"><h2>Findings</h2>\n"
	      "<p class=\"note\">What each saves alone.</p>\n",
	      out);
	vt_page_head_findings(head);
	fputs("</section>\n", out);
}

/* The blocks behind the views of one moment. */
static void add_rows(const struct vt_report *report, const struct vt_page_moments *moments,
		     struct vt_sources *sources, struct vt_pack *pack, json_t *object)
{
	struct vt_page_strings strings;
	struct vt_page_stacks stacks;
	struct vt_page_rows rows;

	vt_page_strings_init(&strings);
	vt_page_stacks_init(&stacks, &report->describe, sources, &strings);
	vt_page_rows_init(&rows, moments, &stacks);
	vt_page_rows_json(&rows, &stacks, pack, object);
	vt_page_stacks_json(&stacks, pack, object);
	vt_page_rows_release(&rows);
	vt_page_stacks_release(&stacks);
	vt_page_strings_release(&strings);
}

static int print_data(const struct vt_page_head *head, const struct vt_series *series,
		      const struct vt_page_moments *moments)
{
	struct vt_pack pack;
	json_t *object = json_object();
	int rc;

	vt_pack_init(&pack);
	json_object_set_new(object, "report", vt_report_json(head->report));
	json_object_set_new(object, "series", vt_series_json(series, &pack));
	vt_track_json(head->report, object);
	add_rows(head->report, moments, head->sources, &pack, object);
	fputs("<script type=\"application/octet-stream\" id=\"data\">\n", head->out);
	rc = vt_pack_write(&pack, object, head->out);
	fprintf(head->out, "</script>\n<script>%s</script>\n", vt_embedded_page_script);
	vt_pack_release(&pack);
	return rc;
}

int vt_html_print(const struct vt_report *report, const struct vt_html_options *options, FILE *out,
		  struct vt_diag *diag)
{
	struct vt_page_moments moments = { 0 };
	struct vt_sources sources;
	struct vt_page_head head = { report, &sources, out };
	struct vt_series series;
	int rc;

	vt_sources_init(&sources, &report->analysis->model);
	vt_series_init(&series, report->analysis);
	rc = vt_page_moments_init(&moments, &series, report, options->when, diag);
	if (!rc) {
		print_head(&head);
		print_views(&head);
		fputs("</main>\n<noscript><p class=\"note\">The drawings need JavaScript.</p>"
		      "</noscript>\n",
		      out);
		rc = print_data(&head, &series, &moments);
		if (rc && ferror(out))
			rc = 0;
		else if (rc)
			vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: its data could not be packed",
				    options->path);
	}
	vt_page_moments_release(&moments);
	vt_series_release(&series);
	vt_sources_release(&sources);
	return rc;
}
