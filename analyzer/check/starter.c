/* SPDX-License-Identifier: MIT */
#include "analyzer/check/starter.h"

#include <string.h>

#include "analyzer/analysis/books.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/* Above the figures of the run: what versions of libraries and the order of things may change. */
#define ROOM 1.05
/* Owners with less of the most allocated bytes get no limit. */
#define LEAST_SHARE 0.02

struct starter {
	struct vt_measure *measure;
	int device;
	FILE *out;
};

#define NO_FIGURE UINT64_MAX

static uint64_t take(const struct starter *s, enum vt_limit_what what, char *subject)
{
	struct vt_limit limit = { .what = what, .subject = subject };
	struct vt_figure figure = { 0 };

	vt_measure_take(s->measure, &limit, s->device, &figure);
	if (figure.why)
		figure.value = NO_FIGURE;
	free(figure.why);
	return figure.value;
}

static void print(const struct starter *s, const char *key, uint64_t figure, const char *comment)
{
	uint64_t most = (uint64_t)((double)figure * ROOM / (double)VT_MIB) + 1;
	char text[VT_UNITS_MAX], *amount;

	amount = vt_xasprintf("\"%llu MiB\"", (unsigned long long)most);

	if (figure != NO_FIGURE)
		fprintf(s->out, "%-13s = %-14s # this run: %s%s%s\n", key, amount,
			vt_units_bytes(text, sizeof(text), figure), *comment ? "; " : "", comment);
	free(amount);
}

static int is_known(char **names, unsigned nr, const char *name)
{
	for (unsigned i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return 1;
	return 0;
}

/* Without what lies below them: one limit for all of it. */
static void print_owners(const struct starter *s, uint64_t allocated)
{
	struct vt_analysis *analysis = s->measure->analysis;
	const struct vt_peak *peak = vt_model_peak(&analysis->model, s->device);
	struct vt_books books;
	char **names;
	unsigned nr = 0;

	vt_books_init(&books, &analysis->attribution, s->device, peak->max_allocated_event);
	names = vt_xcalloc(books.nr_lines + 1, sizeof(*names));
	fputs("\n[owners]          # including sub-owners, at its own peak\n", s->out);
	for (uint32_t i = 0; i < books.nr_lines; i++) {
		const char *owner = books.lines[i].owner;
		char *name = vt_xstrndup(owner, strcspn(owner, "/"));
		uint64_t figure = is_known(names, nr, name) ? 0 : take(s, VT_LIMIT_OWNER, name);
		char *key = vt_xasprintf("\"%s\"", name);

		if ((double)figure >= LEAST_SHARE * (double)allocated && figure)
			print(s, key, figure, "");
		free(key);
		if (is_known(names, nr, name))
			free(name);
		else
			names[nr++] = name;
	}
	for (unsigned i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	vt_books_release(&books);
}

static void print_steps(const struct starter *s)
{
	uint64_t peak = take(s, VT_LIMIT_STEPS, NULL);

	if (peak == NO_FIGURE)
		return;
	fputs("\n[steps]\n", s->out);
	print(s, "peak", peak, "most bytes in blocks in any step");
	print(s, "growth", take(s, VT_LIMIT_GROWTH, NULL), "bytes retained per step (leak)");
}

void vt_starter_write(struct vt_measure *measure, int device, FILE *out)
{
	const struct starter s = { measure, device, out };
	uint64_t allocated = take(&s, VT_LIMIT_ALLOCATED, NULL);
	/* 0 is well. */
	int has_failed = take(&s, VT_LIMIT_ENDED, NULL) != 0;

	fputs("# Memory budget; check a recording with: vtrace check FILE --budget THIS_FILE\n"
	      "# Each limit is the figure of the recorded run plus 5 %.\n"
	      "#\n"
	      "# baseline = \"main.db\"         # \"+5%\" is then relative to this run\n"
	      "# tolerance = \"2 MiB\"          # slack added to every \"+...\", for run-to-run "
	      "noise\n"
	      "warn = [\"total.reserved\"]     # limits that only warn\n"
	      "\n[total]\n",
	      out);
	print(&s, "device_used", take(&s, VT_LIMIT_DEVICE_USED, NULL),
	      "peak process use, including its context");
	print(&s, "allocated", allocated, "most bytes in blocks");
	print(&s, "reserved", take(&s, VT_LIMIT_RESERVED, NULL),
	      "peak held by the allocator; it grows by whole segments");
	print_owners(&s, allocated);
	print_steps(&s);
	fprintf(out,
		"\n[recording]\n"
		"lost          = 0              # events lost because the journal was full\n"
		"%sended         = \"normally\"     # with exit status 0%s\n",
		has_failed ? "# " : "", has_failed ? "; this run did not" : "");
}
