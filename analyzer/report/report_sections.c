/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_sections.h"

#include <math.h>

#include "analyzer/model/producer.h"
#include "analyzer/base/units.h"
#include "analyzer/output/lines.h"

struct vt_report_unit vt_report_sections_unit(uint64_t largest_bytes)
{
	struct vt_report_unit gib = { "GiB", (double)VT_GIB }, mib = { "MiB", (double)VT_MIB };

	return largest_bytes < VT_GIB ? mib : gib;
}

const char *vt_report_sections_figure(char *buf, struct vt_report_unit unit, double bytes)
{
	double value = bytes / unit.bytes;

	/* No "-0.00". */
	snprintf(buf, VT_REPORT_FIGURE_MAX, "%.2f", fabs(value) < 0.005 ? 0.0 : value);
	return buf;
}

static void print_place(const struct vt_report *report, const struct vt_hotspot *spot,
			unsigned number, struct vt_report_unit unit, FILE *out)
{
	/* Enough to see which call of which library; --all-frames shows the rest. */
	unsigned max = report->options->has_all_frames ? VT_FRAMES_MAX : 8;
	char figure[VT_REPORT_FIGURE_MAX], count[VT_UNITS_MAX];

	fprintf(out, "%3u  %s %s in %s %s, %s\n", number,
		vt_report_sections_figure(figure, unit, (double)spot->bytes), unit.name,
		vt_units_count(count, sizeof(count), spot->blocks),
		spot->blocks == 1 ? "block" : "blocks",
		vt_attribution_owner(&report->analysis->attribution, spot->owner));
	vt_lines_print(vt_producer_lines(&report->describe, spot->first), max, "       ", "", out);
}

void vt_report_sections_places(const struct vt_report *report, const struct vt_hotspots *hotspots,
			       struct vt_report_unit unit, FILE *out)
{
	for (uint32_t i = 0; i < hotspots->nr && i < report->options->top; i++)
		print_place(report, &hotspots->items[i], i + 1, unit, out);
}

void vt_report_sections_unknown(const struct vt_report *report, const struct vt_hotspots *hotspots,
				struct vt_report_unit unit, FILE *out)
{
	unsigned shown = 0;

	for (uint32_t i = 0; i < hotspots->nr && shown < report->options->top; i++)
		if (vt_report_is_unknown(report, &hotspots->items[i]))
			print_place(report, &hotspots->items[i], ++shown, unit, out);
}
