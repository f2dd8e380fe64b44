/* SPDX-License-Identifier: MIT */
#include "analyzer/model/when.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/printable.h"

static int no_peak(const struct vt_model *model, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: no device memory was recorded, so there is no peak",
		    vt_db_path(model->db));
	return -1;
}

static int find_peak(const struct vt_model *model, int device, int64_t *event, struct vt_diag *diag)
{
	const struct vt_peak *found = NULL;

	for (uint32_t i = 0; i < model->nr_peaks; i++) {
		const struct vt_peak *peak = &model->peaks[i];

		if (device != VT_WHEN_ALL_DEVICES && peak->device != device)
			continue;
		if (!found || peak->used_bytes > found->used_bytes)
			found = peak;
	}
	if (!found)
		return no_peak(model, diag);
	*event = found->event;
	return 0;
}

static int find_most_allocated(const struct vt_model *model, int device, int64_t *event,
			       struct vt_diag *diag)
{
	const struct vt_peak *found = NULL;

	for (uint32_t i = 0; i < model->nr_peaks; i++) {
		const struct vt_peak *peak = &model->peaks[i];

		if (device != VT_WHEN_ALL_DEVICES && peak->device != device)
			continue;
		if (!found || peak->max_allocated_bytes > found->max_allocated_bytes)
			found = peak;
	}
	if (!found || !found->max_allocated_bytes)
		return find_peak(model, device, event, diag);
	*event = found->max_allocated_event;
	return 0;
}

static int find_oom(const struct vt_model *model, int device, int64_t *event, struct vt_diag *diag)
{
	for (uint32_t i = model->nr_ooms; i-- > 0;) {
		if (device != VT_WHEN_ALL_DEVICES && model->ooms[i].device != device)
			continue;
		*event = model->ooms[i].event;
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: this run did not run out of memory",
		    vt_db_path(model->db));
	return -1;
}

/* Names were made printable when they were read: what a program called it is, too. */
static int find_mark(const struct vt_model *model, const char *asked, int64_t *event,
		     struct vt_diag *diag)
{
	char *name = vt_printable_copy(asked);

	for (uint32_t i = 0; i < model->nr_marks; i++) {
		const char *text = vt_model_text(model, model->marks[i].name);

		if (!text || strcmp(text, name) != 0)
			continue;
		*event = model->marks[i].event;
		free(name);
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no mark named \"%s\"", vt_db_path(model->db),
		    name);
	free(name);
	return -1;
}

static int parse_event(const struct vt_model *model, const char *text, int64_t *event,
		       struct vt_diag *diag)
{
	int64_t number;

	if (vt_numbers_parse(text, INT64_MAX, &number)) {
		vt_diag_set(diag, VT_EXIT_USAGE, "event:%s: not an event number", text);
		return -1;
	}
	if (number < 1 || number > model->last_event) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no event %lld; events are 1 to %lld",
			    vt_db_path(model->db), (long long)number, (long long)model->last_event);
		return -1;
	}
	if (!vt_folded_is_known(&model->folded, number)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: details of event %lld were discarded (--keep); use an event from "
			    "%lld on, or a peak listed by vtrace info",
			    vt_db_path(model->db), (long long)number,
			    (long long)model->folded.event + 1);
		return -1;
	}
	*event = number;
	return 0;
}

int vt_when_resolve(const struct vt_model *model, const char *text, int device, int64_t *event,
		    struct vt_diag *diag)
{
	static const char mark[] = "mark:", number[] = "event:";

	if (strcmp(text, "peak") == 0)
		return find_peak(model, device, event, diag);
	if (strcmp(text, "most-allocated") == 0)
		return find_most_allocated(model, device, event, diag);
	if (strcmp(text, "oom") == 0)
		return find_oom(model, device, event, diag);
	if (strcmp(text, "end") == 0) {
		*event = model->last_event;
		return 0;
	}
	if (strncmp(text, mark, strlen(mark)) == 0)
		return find_mark(model, text + strlen(mark), event, diag);
	if (strncmp(text, number, strlen(number)) == 0)
		return parse_event(model, text + strlen(number), event, diag);
	return 1;
}
