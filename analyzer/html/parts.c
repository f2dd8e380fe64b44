/* SPDX-License-Identifier: MIT */
#include "analyzer/html/parts.h"

#include <string.h>

#include "analyzer/base/shell.h"
#include "analyzer/base/util.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/recording.h"
#include "analyzer/ranks/readers.h"

#define MOST_BYTES (9ull << 19) /* of all: a page is to stay below 5 MiB */
#define MOST_PARTS 64 /* a recording takes 100 kB at least: no more would fit */
#define END        "</template>\n"

/* Nothing where it cannot be read: a page of several is worth having without one. */
static char *read_part(const char *file, void *context)
{
	const struct vt_html_options *options = ((struct vt_parts *)context)->options;
	const struct vt_page_recording_options asked = { .path = file,
							 .rules = options->rules,
							 .when = options->when,
							 .has_all_frames = options->has_all_frames,
							 .heading = "h2" };
	struct vt_page_recording recording;
	struct vt_diag diag = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (!out || vt_page_recording_open(&recording, &asked, &diag)) {
		if (out)
			fclose(out);
		free(text);
		return vt_xstrdup("");
	}
	vt_page_recording_print(&recording, out);
	rc = vt_page_recording_print_data(&recording, out);
	fputs(END, out);
	if (fclose(out) || rc) {
		free(text);
		text = vt_xstrdup("");
	}
	vt_page_recording_close(&recording);
	return text;
}

/* One whose reader died has no end. */
static int is_whole(const char *text, size_t len)
{
	return len > strlen(END) && !memcmp(text + len - strlen(END), END, strlen(END));
}

static void take_part(uint32_t index, const char *text, size_t len, const char *problem,
		      void *context)
{
	struct vt_parts *parts = context;

	(void)problem;
	if (is_whole(text, len))
		parts->items[index].text = vt_xstrndup(text, len);
}

static void choose(struct vt_parts *parts)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < parts->nr; i++) {
		char *text = parts->items[i].text;

		if (text && bytes + strlen(text) <= MOST_BYTES) {
			bytes += strlen(text);
			parts->nr_shown++;
			continue;
		}
		free(text);
		parts->items[i].text = NULL;
	}
}

void vt_parts_init(struct vt_parts *parts, const struct vt_html_options *options,
		   const struct vt_part *items, uint32_t nr)
{
	const char *files[MOST_PARTS];
	const struct vt_readers_work work = { .files = files,
					      .nr = nr < MOST_PARTS ? nr : MOST_PARTS,
					      .read = read_part,
					      .take = take_part,
					      .context = parts };

	*parts = (struct vt_parts){ .options = options, .nr = nr };
	parts->items = vt_xcalloc((size_t)nr + 1, sizeof(*parts->items));
	memcpy(parts->items, items, nr * sizeof(*items));
	for (uint32_t i = 0; i < work.nr; i++)
		files[i] = items[i].file;
	vt_readers_run(&work);
	choose(parts);
}

void vt_parts_release(struct vt_parts *parts)
{
	for (uint32_t i = 0; i < parts->nr; i++)
		free(parts->items[i].text);
	free(parts->items);
	memset(parts, 0, sizeof(*parts));
}

static void print_left_out(const struct vt_parts *parts, FILE *out)
{
	char *file;

	if (parts->nr_shown == parts->nr)
		return;
	for (uint32_t i = 0; i < parts->nr; i++) {
		if (parts->items[i].text)
			continue;
		file = vt_shell_copy(parts->items[i].file);
		fprintf(out,
			"<p class=\"note\">The page has the views of %u of %u recordings; of the"
			" others: <code>vtrace html ",
			parts->nr_shown, parts->nr);
		vt_markup_text(out, file);
		fputs("</code></p>\n", out);
		free(file);
		return;
	}
}

void vt_parts_print(const struct vt_parts *parts, FILE *out)
{
	fputs("<nav id=\"recordings\" aria-label=\"Recordings\" hidden></nav>\n", out);
	print_left_out(parts, out);
	fputs("<main id=\"recording\"></main>\n", out);
	for (uint32_t i = 0; i < parts->nr; i++) {
		const struct vt_part *part = &parts->items[i];

		if (!part->text)
			continue;
		fputs("<template class=\"recording\" data-label=\"", out);
		vt_markup_text(out, part->label);
		fputs("\" data-file=\"", out);
		vt_markup_text(out, part->file);
		fputs("\">\n", out);
		fputs(part->text, out);
	}
}
