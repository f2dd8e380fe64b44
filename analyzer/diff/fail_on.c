/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/fail_on.h"

#include <string.h>

#include "analyzer/analysis/books.h"
#include "analyzer/attribution/known_owners.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/diff/noise.h"

static const struct subject {
	const char *word;
	enum vt_fail_on_subject subject;
} subjects[] = {
	{ "total:", VT_FAIL_ON_TOTAL },
	{ "allocated:", VT_FAIL_ON_ALLOCATED },
	{ "owner:", VT_FAIL_ON_OWNER },
};

/* "+5%", "+100MiB", "+0" */
static const char *parse_amount(struct vt_fail_on *threshold, const char *text)
{
	if (vt_amounts_parse(text, &threshold->amount) || !threshold->amount.is_relative)
		return "needs an increase at its end, such as +2% or +1GiB";
	return NULL;
}

static const char *parse_owner(struct vt_fail_on *threshold, const char *text)
{
	const char *amount = strrchr(text, ':');

	if (!amount)
		return "needs an increase after the owner, such as owner:PATH:+1GiB";
	if (amount == text)
		return "needs an owner, such as owner:activations:+1GiB";
	threshold->owner = text;
	threshold->owner_len = (int)(amount - text);
	return parse_amount(threshold, amount + 1);
}

const char *vt_fail_on_parse(struct vt_fail_on *threshold, const char *text)
{
	memset(threshold, 0, sizeof(*threshold));
	threshold->text = text;
	if (!strcmp(text, "any"))
		return NULL;
	if (!strcmp(text, "moved")) {
		threshold->subject = VT_FAIL_ON_MOVED;
		return NULL;
	}
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		size_t len = strlen(subjects[i].word);

		if (strncmp(text, subjects[i].word, len) != 0)
			continue;
		threshold->subject = subjects[i].subject;
		return threshold->subject == VT_FAIL_ON_OWNER ? parse_owner(threshold, text + len)
							      : parse_amount(threshold, text + len);
	}
	return "must be any, moved, total:+2%, allocated:+1GiB, owner:PATH:+1GiB";
}

static int is_subject(const char *owner, const struct vt_fail_on *threshold)
{
	return vt_owner_path_is_below(owner, threshold->owner, (size_t)threshold->owner_len);
}

static uint64_t bytes_of(const struct vt_fail_on *threshold, const struct vt_diff_device *device,
			 int side)
{
	uint64_t sum = 0;

	if (threshold->subject == VT_FAIL_ON_TOTAL)
		return device->peak_bytes[side];
	if (threshold->subject == VT_FAIL_ON_ALLOCATED)
		return device->most_allocated_bytes[side];
	for (uint32_t i = 0; i < device->nr_owners; i++)
		if (is_subject(device->owners[i].owner, threshold))
			sum += device->owners[i].bytes[side];
	return sum;
}

int vt_fail_on_has_subject(const struct vt_fail_on *threshold, const struct vt_diff *diff)
{
	if (threshold->subject != VT_FAIL_ON_OWNER)
		return 1;
	for (uint32_t d = 0; d < diff->nr_devices; d++)
		for (uint32_t i = 0; i < diff->devices[d].nr_owners; i++)
			if (is_subject(diff->devices[d].owners[i].owner, threshold))
				return 1;
	return 0;
}

int vt_fail_on_is_known(const struct vt_fail_on *threshold, const struct vt_diff *diff)
{
	size_t len = (size_t)threshold->owner_len;

	if (vt_fail_on_has_subject(threshold, diff))
		return 1;
	for (size_t i = 0; i < VT_NR_REST_OWNERS; i++)
		if (vt_owner_path_is_below(vt_rest_owners[i], threshold->owner, len))
			return 1;
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		if (vt_known_owners_has(&diff->sides[side]->analysis.attribution,
					&diff->sides[side]->analysis.rules, threshold->owner, len))
			return 1;
	return 0;
}

static uint64_t noise_of(const struct vt_fail_on *threshold, const struct vt_diff *diff,
			 const struct vt_diff_device *device, const uint64_t *bytes)
{
	uint64_t asked[VT_DIFF_SIDES] = { 0 }, spread, uncut;

	if (threshold->subject == VT_FAIL_ON_TOTAL)
		return device->peak_noise_bytes;
	if (threshold->subject == VT_FAIL_ON_ALLOCATED)
		return device->allocated_noise_bytes;
	for (uint32_t i = 0; i < device->nr_owners; i++)
		for (int side = 0; side < VT_DIFF_SIDES; side++)
			if (is_subject(device->owners[i].owner, threshold))
				asked[side] += device->owners[i].asked_bytes[side];
	spread = vt_noise_of_owner(diff, device, threshold->owner, (size_t)threshold->owner_len);
	uncut = vt_noise_uncut(bytes, asked);
	return spread > uncut ? spread : uncut;
}

int vt_fail_on_is_exceeded(const struct vt_fail_on *threshold, const struct vt_diff *diff,
			   const struct vt_diff_device *device, uint64_t *bytes)
{
	bytes[VT_DIFF_BASE] = bytes[VT_DIFF_NEW] = 0;
	if (threshold->subject == VT_FAIL_ON_ANY)
		return vt_diff_is_different(diff);
	if (threshold->subject == VT_FAIL_ON_MOVED)
		return device->changes.moves.nr != 0;
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		bytes[side] = bytes_of(threshold, device, side);
	if (bytes[VT_DIFF_NEW] <= bytes[VT_DIFF_BASE] ||
	    !vt_diff_is_change(device, bytes, noise_of(threshold, diff, device, bytes)))
		return 0;
	return bytes[VT_DIFF_NEW] > vt_amounts_most(&threshold->amount, bytes[VT_DIFF_BASE]);
}
