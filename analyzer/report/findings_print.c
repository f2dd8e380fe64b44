/* SPDX-License-Identifier: MIT */
#include "analyzer/report/findings_print.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"

#define WHAT_WIDTH 76 /* a longer line has the figures behind it */
#define PAGE_WIDTH 78

static void at_least(char text[VT_UNITS_MAX], uint64_t bytes)
{
	char copy[VT_UNITS_MAX];

	if (bytes)
		snprintf(copy, sizeof(copy), "> %.*s", VT_UNITS_MAX - 3, text);
	else
		snprintf(copy, sizeof(copy), "unknown");
	memcpy(text, copy, sizeof(copy));
}

/* "cache +1.05 GiB": what the engine takes stays, its cache has more of it. */
static void for_cache(char allocated[VT_UNITS_MAX], char used[VT_UNITS_MAX], uint64_t bytes)
{
	char more[VT_UNITS_MAX];

	vt_units_bytes(more, sizeof(more), bytes);
	snprintf(allocated, VT_UNITS_MAX, "cache +%.*s", VT_UNITS_MAX - 8, more);
	snprintf(used, VT_UNITS_MAX, "nothing");
}

static const char *what_to_do(const struct vt_finding *finding)
{
	return finding->flag ? finding->flag : vt_findings_words[finding->id].fix;
}

void vt_findings_print_text(const struct vt_findings *findings, FILE *out)
{
	fprintf(out, "%-*s  %16s  %11s\n", WHAT_WIDTH - (int)strlen("FINDINGS"),
		"  each change applied alone", "lowers allocated", "lowers used");
	for (size_t i = 0; i < findings->len; i++) {
		const struct vt_finding *finding = &findings->items[i];
		const struct vt_finding_words *words = &vt_findings_words[finding->id];
		char allocated[VT_UNITS_MAX], used[VT_UNITS_MAX] = "unknown";
		int width = fprintf(out, "%2zu  %s: %s", i + 1, words->what, finding->text);

		vt_units_bytes(allocated, sizeof(allocated), finding->lowers_allocated_bytes);
		if (finding->is_used_known)
			vt_units_bytes(used, sizeof(used), finding->lowers_used_bytes);
		if (finding->is_least) {
			at_least(allocated, finding->lowers_allocated_bytes);
			if (finding->is_used_known)
				at_least(used, finding->lowers_used_bytes);
		}
		if (finding->is_for_cache)
			for_cache(allocated, used, finding->saves_bytes);
		fprintf(out, "%*s  %16s  %11s\n", width < WHAT_WIDTH ? WHAT_WIDTH - width : 0, "",
			allocated, used);
		if (finding->where)
			fprintf(out, "    %s\n", finding->where);
		fprintf(out, "    %s (finding:%s)\n", what_to_do(finding), words->id);
	}
}

json_t *vt_findings_print_json(const struct vt_findings *findings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < findings->len; i++) {
		const struct vt_finding *finding = &findings->items[i];
		const struct vt_finding_words *words = &vt_findings_words[finding->id];
		char *text = vt_xasprintf("%s: %s", words->what, finding->text);
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "id", words->id);
		vt_json_set(object, "saves_bytes", finding->saves_bytes);
		vt_json_set(object, "lowers_allocated_bytes", finding->lowers_allocated_bytes);
		vt_json_set_if(object, "lowers_used_bytes", finding->is_used_known,
			       finding->lowers_used_bytes);
		vt_json_set(object, "is_lower_bound", json_boolean(finding->is_least));
		vt_json_set(object, "owner", finding->owner);
		vt_json_set(object, "where", finding->where);
		vt_json_set(object, "caller", finding->caller);
		vt_json_set(object, "text", text);
		vt_json_set(object, "fix", what_to_do(finding));
		vt_json_set(object, "is_for_cache", json_boolean(finding->is_for_cache));
		vt_json_set(object, "device", finding->device);
		vt_json_set(object, "proved_by", finding->is_replayed ? "replay" : "arithmetic");
		free(text);
	}
	return array;
}

/* At most PAGE_WIDTH columns, each line behind two blanks. */
static void print_wrapped(const char *text, FILE *out)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > PAGE_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		fprintf(out, "%s%.*s", column ? " " : "  ", (int)word, text);
		column += word + (column ? 1 : 2);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void vt_findings_print_page(enum vt_finding_id id, FILE *out)
{
	const struct vt_finding_words *words = &vt_findings_words[id];

	fprintf(out, "finding:%s  %s\n\nWHAT TO DO\n", words->id, words->what);
	print_wrapped(words->fix, out);
	fputs("\nWHEN IT IS FOUND\n", out);
	print_wrapped(words->found, out);
	fputs("\nWHAT IT SAVES\n", out);
	print_wrapped(words->saves, out);
}

void vt_findings_print_page_json(enum vt_finding_id id, FILE *out)
{
	const struct vt_finding_words *words = &vt_findings_words[id];
	json_t *object = json_object();

	vt_json_set(object, "format", 1);
	vt_json_set(object, "id", words->id);
	vt_json_set(object, "what", words->what);
	vt_json_set(object, "fix", words->fix);
	vt_json_set(object, "found", words->found);
	vt_json_set(object, "saves", words->saves);
	vt_json_print(object, out);
}
