/* SPDX-License-Identifier: MIT */
#include "analyzer/html/frame.h"

#include "analyzer/base/embedded.h"
#include "analyzer/html/markup.h"

/* Nothing from outside is loaded, and no script runs but the one of this file. */
static void print_policy(FILE *out)
{
	fprintf(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
		" script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n",
		vt_embedded_page_script_hash, vt_embedded_page_style_hash);
}

void vt_frame_begin(FILE *out, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n", out);
	print_policy(out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"vtrace " VTRACE_VERSION "\">\n<title>",
	      out);
	vt_markup_text(out, title);
	fprintf(out, " · vtrace</title>\n<style>%s</style>\n<body>\n", vt_embedded_page_style);
}

void vt_frame_end(FILE *out)
{
	fprintf(out,
		"<noscript><p class=\"note\">The charts need JavaScript.</p></noscript>\n"
		"<script>%s</script>\n",
		vt_embedded_page_script);
}
