/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "common/ini.h"

/* PyTorch's default, :4096:2:16:8, but on 9.0 (aten/src/ATen/cuda/CublasHandlePool.cpp). */
#define CUBLAS_BYTES 8519680

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

static struct vt_gpu *card_of(const struct vt_ini_entry *entry)
{
	struct vt_gpu card = { .cublas_bytes = CUBLAS_BYTES };
	struct vt_gpu *last = g.cards.len ? &g.cards.items[g.cards.len - 1] : NULL;

	snprintf(card.name, sizeof(card.name), "%.*s", (int)entry->section_len, entry->section);
	if (last && !strcmp(last->name, card.name))
		return last;
	card.vendor_bytes = vendor_bytes(card.name);
	vt_vector_push(&g.cards, card);
	return &g.cards.items[g.cards.len - 1];
}

static void take(struct vt_gpu *card, const struct vt_ini_entry *entry)
{
	char value[64], key[48];
	uint64_t bytes = 0;

	snprintf(key, sizeof(key), "%.*s", (int)entry->key_len, entry->key);
	snprintf(value, sizeof(value), "%.*s", (int)entry->value_len, entry->value);
	if (!strcmp(key, "device"))
		snprintf(card->device, sizeof(card->device), "%s", value);
	else if (!strcmp(key, "capability"))
		card->capability = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(key, "nr_sms"))
		card->nr_sms = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(key, "max_threads_per_sm"))
		card->sm_threads = (unsigned)strtoul(value, NULL, 10);
	if (vt_units_parse_bytes(value, &bytes))
		return;
	if (!strcmp(key, "usable_bytes") || (!strcmp(key, "total_bytes") && !card->usable_bytes))
		card->usable_bytes = bytes;
	else if (!strcmp(key, "context_bytes"))
		card->context_bytes = bytes;
	else if (!strcmp(key, "cublas_workspace_bytes"))
		card->cublas_bytes = bytes;
}

static void read_cards(const char *text)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;

	vt_ini_init(&ini, text, strlen(text));
	while (vt_ini_next(&ini, &entry) > 0)
		take(card_of(&entry), &entry);
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
	if (g.cards.len)
		return;
	read_cards(vt_embedded_profiles);
	read_cards(vt_embedded_gpus);
	vt_vector_sort(&g.cards, compare);
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
	gpu->cublas_bytes = CUBLAS_BYTES;
}
