/* SPDX-License-Identifier: MIT */
#include "analyzer/html/comparison.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/diff_json.h"
#include "analyzer/html/frame.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/pack.h"
#include "analyzer/html/pair.h"
#include "analyzer/html/parts.h"
#include "analyzer/html/rank_rows.h"
#include "analyzer/model/when.h"
#include "analyzer/output/json.h"

/* Device use is flat once the allocator has its segments: its peak could be any instant. */
#define USUAL_WHEN "most-allocated"

static const char *when_of(const struct vt_html_options *options)
{
	return options->when ? options->when : USUAL_WHEN;
}

/* Takes `object`: what the script knows of the comparison. */
static void print_data(json_t *object, FILE *out)
{
	struct vt_pack pack;

	vt_pack_init(&pack);
	fputs("<script type=\"application/octet-stream\" class=\"comparison\">\n", out);
	vt_pack_write(&pack, object, out);
	fputs("</script>\n", out);
	vt_pack_release(&pack);
}

/* Which of the page's recordings the script draws beside each other; their devices. */
static void set_pair(json_t *object, struct vt_diff *diff, const char *base, const char *new,
		     const int *devices)
{
	json_object_set_new(object, "diff", vt_diff_json(diff, NULL, 0));
	json_object_set_new(object, "pair",
			    json_pack("[o,o]", vt_json_text(base), vt_json_text(new)));
	json_object_set_new(object, "pair_devices",
			    devices ? json_pack("[i,i]", devices[0], devices[1]) : json_null());
}

int vt_comparison_print_pair(const struct vt_html_options *options, FILE *out, struct vt_diag *diag)
{
	const struct vt_diff_options asked = { .rules = options->rules,
					       .when = when_of(options),
					       .device = VT_WHEN_ALL_DEVICES,
					       .by = VT_CHANGES_BY_STACK,
					       .top = VT_PAIR_MOST_PLACES,
					       .has_all_frames = options->has_all_frames };
	const struct vt_part items[] = { { .file = options->path, .label = "new" },
					 { .file = options->base, .label = "base" } };
	struct vt_parts parts;
	struct vt_diff diff = { 0 };
	json_t *object;

	if (vt_diff_init(&diff, options->base, options->path, &asked, diag)) {
		vt_diff_release(&diff);
		return -1;
	}
	object = json_object();
	set_pair(object, &diff, "base", "new", NULL);
	vt_frame_begin(out, "two recordings");
	fputs("<header>\n<h1>What changed</h1>\n<ul class=\"facts\"><li>base ", out);
	vt_markup_text(out, options->base);
	fputs("<li>new ", out);
	vt_markup_text(out, options->path);
	fputs("</ul>\n</header>\n<section id=\"pair\">\n", out);
	vt_pair_print(&diff, "base", "new", out);
	fputs("</section>\n", out);
	vt_diff_release(&diff);
	vt_parts_init(&parts, options, items, VT_ARRAY_SIZE(items));
	vt_parts_print(&parts, out);
	vt_parts_release(&parts);
	print_data(object, out);
	vt_frame_end(out);
	return 0;
}

static char *label_of(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	if (ranks->runs.is_unrelated)
		return vt_xstrdup(vt_util_base_name(rank->file));
	return vt_xasprintf("rank %lld", (long long)rank->number);
}

/* The highest and the median are the page's subject; the others by their numbers. */
static int precedence(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	return rank == ranks->peak ? 0 : rank == ranks->median ? 1 : 2;
}

static void print_parts(const struct vt_html_options *options, const struct vt_ranks *ranks,
			const struct vt_rank *const *rows, uint32_t nr, FILE *out)
{
	struct vt_part *items = vt_xcalloc((size_t)nr + 1, sizeof(*items));
	char **labels = vt_xcalloc((size_t)nr + 1, sizeof(*labels));
	struct vt_parts parts;
	uint32_t filled = 0;

	for (int p = 0; p <= 2; p++)
		for (uint32_t i = 0; i < nr; i++)
			if (precedence(ranks, rows[i]) == p) {
				labels[filled] = label_of(ranks, rows[i]);
				items[filled] = (struct vt_part){ .file = rows[i]->file,
								  .label = labels[filled] };
				filled++;
			}
	vt_parts_init(&parts, options, items, nr);
	vt_parts_print(&parts, out);
	vt_parts_release(&parts);
	for (uint32_t i = 0; i < nr; i++)
		free(labels[i]);
	free(labels);
	free(items);
}

static void print_ranks(const struct vt_html_options *options, struct vt_ranks *ranks, FILE *out)
{
	char *median = label_of(ranks, ranks->median), *peak = label_of(ranks, ranks->peak);
	json_t *object = json_object();

	json_object_set_new(object, "ranks", vt_ranks_json(ranks));
	vt_rank_rows_print(ranks, out);
	if (ranks->has_diff) {
		set_pair(object, &ranks->diff, median, peak, ranks->pair);
		fputs("<section id=\"pair\">\n<h2>The highest, ", out);
		vt_markup_text(out, peak);
		fputs(", against the median, ", out);
		vt_markup_text(out, median);
		fputs("</h2>\n", out);
		vt_pair_print(&ranks->diff, median, peak, out);
		fputs("</section>\n", out);
	}
	print_parts(options, ranks, ranks->run->ranks, ranks->run->nr, out);
	print_data(object, out);
	free(median);
	free(peak);
}

static void print_list(const struct vt_html_options *options, const struct vt_ranks *ranks,
		       FILE *out)
{
	uint32_t nr;
	const struct vt_rank **rows = vt_recording_list_sorted(&ranks->runs, &nr);

	vt_rank_rows_print_list(ranks, rows, nr, out);
	print_parts(options, ranks, rows, nr, out);
	print_data(json_object(), out);
	free(rows);
}

int vt_comparison_print_folder(const struct vt_html_options *options, FILE *out,
			       struct vt_diag *diag)
{
	const struct vt_ranks_options asked = {
		.rank = { .when = when_of(options), .rules = options->rules },
		.top = VT_PAIR_MOST_PLACES,
		.run = options->run,
		.has_all_frames = options->has_all_frames,
	};
	struct vt_ranks ranks;
	int rc = vt_ranks_init(&ranks, options->path, &asked, diag);

	if (!rc) {
		vt_frame_begin(out, ranks.runs.is_unrelated ? "recordings" : "ranks");
		if (ranks.runs.is_unrelated)
			print_list(options, &ranks, out);
		else
			print_ranks(options, &ranks, out);
		vt_frame_end(out);
	}
	vt_ranks_release(&ranks);
	return rc;
}
