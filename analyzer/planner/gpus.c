/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/gpus.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/card_choice.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/replay/cublas_workspace.h"

static struct {
	VT_VECTOR(struct vt_gpu) cards;
} g;

/* The capacity in a name: "h100-80g" is sold as 80 GB. */
static uint64_t vendor_bytes(const char *name)
{
	const char *dash = strrchr(name, '-');
	unsigned gigabytes = 0;

	return dash && sscanf(dash + 1, "%ug", &gigabytes) == 1 ? gigabytes * 1000000000ull : 0;
}

static void describe(struct vt_gpu *gpu, const struct vt_card_profile *card)
{
	memset(gpu, 0, sizeof(*gpu));
	snprintf(gpu->name, sizeof(gpu->name), "%.*s", (int)sizeof(gpu->name) - 1, card->name);
	snprintf(gpu->device, sizeof(gpu->device), "%.*s", (int)sizeof(gpu->device) - 1,
		 card->device);
	gpu->usable_bytes = card->usable_bytes > card->other_bytes ?
				    card->usable_bytes - card->other_bytes : 0;
	gpu->vendor_bytes = vendor_bytes(card->name);
	gpu->context_bytes = card->is_context_assumed ? 0 : card->context_bytes;
	gpu->cublas_bytes = card->capability == 90 ? VT_CUBLAS_WORKSPACE_HOPPER_BYTES
						   : VT_CUBLAS_WORKSPACE_BYTES;
	gpu->capability = (unsigned)card->capability;
	gpu->nr_sms = (unsigned)card->nr_sms;
	gpu->sm_threads = (unsigned)card->max_threads_per_sm;
}

static int compare(const void *a, const void *b)
{
	const struct vt_gpu *x = a, *y = b;

	if (x->usable_bytes != y->usable_bytes)
		return x->usable_bytes < y->usable_bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void load(void)
{
	struct vt_card_profile card;
	struct vt_gpu gpu;

	if (g.cards.len)
		return;
	for (size_t i = 0; !vt_card_choice_at(&card, vt_embedded_profiles, i); i++) {
		describe(&gpu, &card);
		vt_vector_push(&g.cards, gpu);
	}
	vt_vector_sort(&g.cards, compare);
}

int vt_gpus_choose(const char *choice, struct vt_gpu *gpu, struct vt_diag *diag)
{
	struct vt_card_profile card;

	if (vt_card_choice_read(&card, choice, vt_embedded_profiles, "--gpu", diag))
		return -1;
	describe(gpu, &card);
	return 0;
}

int vt_gpus_find(const char *name, struct vt_gpu *gpu)
{
	load();
	for (size_t i = 0; i < g.cards.len; i++) {
		if (strcmp(g.cards.items[i].name, name))
			continue;
		*gpu = g.cards.items[i];
		return 0;
	}
	return -1;
}

int vt_gpus_find_device(const char *device, struct vt_gpu *gpu)
{
	load();
	for (size_t i = 0; i < g.cards.len; i++) {
		if (!*device || strcmp(g.cards.items[i].device, device))
			continue;
		*gpu = g.cards.items[i];
		return 0;
	}
	return -1;
}

int vt_gpus_at(size_t place, struct vt_gpu *gpu)
{
	load();
	if (place >= g.cards.len)
		return -1;
	*gpu = g.cards.items[place];
	return 0;
}

void vt_gpus_plain(struct vt_gpu *gpu, uint64_t bytes)
{
	memset(gpu, 0, sizeof(*gpu));
	snprintf(gpu->name, sizeof(gpu->name), "device");
	gpu->usable_bytes = bytes;
	gpu->cublas_bytes = VT_CUBLAS_WORKSPACE_BYTES;
}
