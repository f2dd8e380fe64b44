/* SPDX-License-Identifier: MIT */
#include "analyzer/html/html.h"

#include <stdlib.h>

#include "analyzer/base/embedded.h"
#include "analyzer/html/comparison.h"
#include "analyzer/html/frame.h"
#include "analyzer/html/recording.h"
#include "analyzer/ranks/folder.h"

int vt_html_check(struct vt_diag *diag)
{
	if (*vt_embedded_page_script)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "this vtrace was built without esbuild or D3, which `vtrace html` needs;"
		    " install esbuild and node-d3 (scripts/deps) and build again");
	return -1;
}

static int print_one(const struct vt_html_options *options, FILE *out, struct vt_diag *diag)
{
	const struct vt_page_recording_options asked = { .path = options->path,
							 .rules = options->rules,
							 .when = options->when,
							 .has_all_frames = options->has_all_frames,
							 .heading = "h1" };
	struct vt_page_recording recording;
	char *program;
	int rc = 0;

	if (vt_page_recording_open(&recording, &asked, diag))
		return -1;
	program = vt_page_recording_program(&recording);
	vt_frame_begin(out, program);
	fputs("<main id=\"recording\">\n", out);
	vt_page_recording_print(&recording, out);
	fputs("</main>\n", out);
	if (vt_page_recording_print_data(&recording, out) && !ferror(out)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: the data of the page could not be compressed", options->path);
		rc = -1;
	}
	vt_frame_end(out);
	free(program);
	vt_page_recording_close(&recording);
	return rc;
}

int vt_html_print(const struct vt_html_options *options, FILE *out, struct vt_diag *diag)
{
	if (options->base)
		return vt_comparison_print_pair(options, out, diag);
	if (vt_folder_is_one(options->path))
		return vt_comparison_print_folder(options, out, diag);
	return print_one(options, out, diag);
}
