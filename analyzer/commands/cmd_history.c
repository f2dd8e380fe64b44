/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/options.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/check/history.h"
#include "analyzer/check/level_shifts.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/html/markup.h"
#include "analyzer/output/json.h"

enum { OPTION_HTML = 256 };

static const struct vt_option options[] = {
	{ OPTION_HTML, "html", NULL, "print a page with a chart of each limit" },
	{ 'j', "json", NULL, "print JSON" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "history",
	.synopsis = "[OPTION...] FILE",
	.summary = "Shows the figures that vtrace check --history stored, and where they jumped.",
	.options = options,
};

static void print_text(const struct vt_history *history)
{
	unsigned nr_steps = 0;

	for (uint32_t i = 0; i < history->nr_series; i++)
		for (size_t k = 0; k < history->series[i].steps.len; k++) {
			char *text = vt_history_sentence(history, &history->series[i],
							 &history->series[i].steps.items[k]);

			puts(text);
			free(text);
			nr_steps++;
		}
	printf("%s%u %s in %u limits and %u runs\n", nr_steps ? "\n" : "", nr_steps,
	       nr_steps == 1 ? "jump" : "jumps", history->nr_series, history->nr_runs);
	if (history->nr_runs < 2 * VT_LEVEL_SHIFTS_LEAST)
		printf("a jump needs %d runs before it and %d runs after it\n",
		       VT_LEVEL_SHIFTS_LEAST, VT_LEVEL_SHIFTS_LEAST);
}

static json_t *series_json(const struct vt_history *history, const struct vt_history_series *series)
{
	json_t *object = json_object(), *figures = json_array(), *steps = json_array();

	for (uint32_t i = 0; i < series->nr; i++)
		json_array_append_new(figures, json_pack("{s:i, s:I}", "run", (int)series->runs[i],
							 "figure", (json_int_t)series->figures[i]));
	for (size_t i = 0; i < series->steps.len; i++) {
		const struct vt_level_shift *step = &series->steps.items[i];

		json_array_append_new(
			steps, json_pack("{s:i, s:s, s:I, s:I, s:f}", "run",
					 (int)series->runs[step->at], "revision",
					 history->revisions[series->runs[step->at]], "before",
					 (json_int_t)step->before, "after",
					 (json_int_t)step->after, "score", step->score));
	}
	vt_json_set(object, "limit", series->name);
	vt_json_set(object, "figures", figures);
	vt_json_set(object, "steps", steps);
	return object;
}

static void print_json(const struct vt_history *history)
{
	json_t *object = json_object(), *runs = json_array(), *limits = json_array();

	for (uint32_t i = 0; i < history->nr_runs; i++)
		json_array_append_new(runs, json_pack("{s:s, s:I}", "revision",
						      history->revisions[i], "time_s",
						      (json_int_t)history->times_s[i]));
	for (uint32_t i = 0; i < history->nr_series; i++)
		json_array_append_new(limits, series_json(history, &history->series[i]));
	vt_json_set(object, "format", 1);
	vt_json_set(object, "runs", runs);
	vt_json_set(object, "limits", limits);
	vt_json_print(object, stdout);
}

/* Of what the lines are in; numbers stand to the left, runs below. */
#define WIDTH  800.0
#define HEIGHT 160.0
#define LEFT   90.0
#define BELOW  24.0
#define MARGIN 10.0

/* What a chart shows from bottom to top. */
struct scale {
	double least, most;
};

static struct scale scale_of(const struct vt_history_series *series)
{
	struct scale scale = { 0, 0 };

	for (uint32_t i = 0; i < series->nr; i++) {
		scale.least = fmin(scale.least, series->figures[i]);
		scale.most = fmax(scale.most, series->figures[i]);
	}
	scale.most += scale.most <= scale.least;
	return scale;
}

static double height_of(const struct scale *scale, double value)
{
	return HEIGHT * (scale->most - value) / (scale->most - scale->least);
}

/* The least, the most and what is between them, each with its unit and a line across. */
static void print_values(const struct vt_history_series *series, const struct scale *scale)
{
	for (int i = 0; i <= 2; i++) {
		double value = scale->least + (scale->most - scale->least) * i / 2;
		double y = height_of(scale, value);
		char text[VT_UNITS_MAX];

		printf("<path d=\"M0 %.1fH%g\" stroke=\"currentColor\" opacity=\".3\"/>"
		       "<text x=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		       y, WIDTH, y + 4, vt_history_value(series->unit, value, text));
	}
}

/* Two fit below a chart; the whole is there for a mouse. */
static void print_revision(const char *revision)
{
	size_t len = strlen(revision), most = 20;
	char *start;

	while (len > most && ((unsigned char)revision[most] & 0xc0) == 0x80)
		most--;
	start = vt_xasprintf("%.*s", (int)most, revision);
	vt_markup_text(stdout, start);
	if (len > most) {
		fputs("...<title>", stdout);
		vt_markup_text(stdout, revision);
		fputs("</title>", stdout);
	}
	free(start);
}

/* Below the chart: which run it is, and from when. */
static void print_run(const struct vt_history *history, uint32_t run, double x, const char *anchor)
{
	time_t seconds = (time_t)history->times_s[run];
	char date[40] = "";
	struct tm tm;

	if (seconds > 0 && gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), ", %Y-%m-%d", &tm);
	printf("<text x=\"%g\" y=\"%g\" text-anchor=\"%s\">run %u: ", x, HEIGHT + BELOW - 4, anchor,
	       run + 1);
	print_revision(history->revisions[run]);
	printf("%s</text>\n", date);
}

static void print_chart(const struct vt_history *history, const struct vt_history_series *series)
{
	double across = history->nr_runs > 1 ? history->nr_runs - 1 : 1;
	struct scale scale = scale_of(series);

	fputs("<h2>", stdout);
	vt_markup_text(stdout, series->name);
	printf("</h2>\n<div><svg viewBox=\"%g %g %g %g\" width=\"100%%\" role=\"img\" "
	       "aria-label=\"",
	       -LEFT, -MARGIN, LEFT + WIDTH + MARGIN, MARGIN + HEIGHT + BELOW);
	vt_markup_text(stdout, series->name);
	puts(" by run\" font-size=\"13\" fill=\"currentColor\">");
	print_values(series, &scale);
	print_run(history, 0, 0, "start");
	if (history->nr_runs > 1)
		print_run(history, history->nr_runs - 1, WIDTH, "end");
	fputs("<polyline fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" points=\"",
	      stdout);
	for (uint32_t i = 0; i < series->nr; i++)
		printf("%.1f,%.1f ", WIDTH * series->runs[i] / across,
		       height_of(&scale, series->figures[i]));
	puts("\"/></svg></div>");
	for (size_t k = 0; k < series->steps.len; k++) {
		char *text = vt_history_sentence(history, series, &series->steps.items[k]);

		fputs("<p>", stdout);
		vt_markup_text(stdout, text);
		puts("</p>");
		free(text);
	}
}

static void print_html(const struct vt_history *history)
{
	puts("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
	     "<meta name=\"viewport\" content=\"width=device-width\">"
	     "<title>vtrace history</title>\n"
	     "<style>:root{color-scheme:light dark}body{font:15px sans-serif;max-width:54em;"
	     "margin:2em auto;padding:0 1em;overflow-wrap:anywhere}div{overflow-x:auto}"
	     "svg{min-width:40em}</style>");
	printf("<h1>GPU memory over %u runs</h1>\n", history->nr_runs);
	for (uint32_t i = 0; i < history->nr_series; i++)
		print_chart(history, &history->series[i]);
	puts("</html>");
}

int vt_cmd_history(int argc, char **argv)
{
	struct vt_history history;
	struct vt_diag diag = { 0 };
	int id, is_html = 0, is_json = 0, rc;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		is_html |= id == OPTION_HTML;
		is_json |= id == 'j';
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (optind + 1 != argc)
		return vt_options_wrong(&spec, "needs one FILE of vtrace check --history");
	rc = vt_history_read(&history, argv[optind], &diag);
	if (!rc && is_json)
		print_json(&history);
	else if (!rc && is_html)
		print_html(&history);
	else if (!rc)
		print_text(&history);
	vt_history_release(&history);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
