/* SPDX-License-Identifier: MIT */
#include "common/card_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ini.h"
#include "common/nearest.h"
#include "common/size.h"

/* A size of fewer bytes lacks its unit. */
#define LEAST_SIZE    (1u << 20)
/* More experts than any model has: one gets all tokens. */
#define MOST_SKEW     1024
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum value_kind { TEXT, SIZE, SMALL_SIZE, NUMBER, CAPABILITY, DRIVER, MEMORY, RANK, ROUTING };

#define FIELD(name, kind, most)                                                                    \
	{                                                                                          \
#name, kind, most, offsetof(struct vt_card_profile, name), 0                       \
	}
#define OPTION(key, field, kind, most)                                                             \
	{                                                                                          \
		key, kind, most, offsetof(struct vt_card_profile, field), 1                        \
	}
static const struct field {
	const char *key;
	enum value_kind kind;
	size_t most; /* of a number: the largest; of a text: its bytes with the NUL */
	size_t offset;
	int is_option; /* not of a file */
} fields[] = {
	FIELD(device, TEXT, sizeof(((struct vt_card_profile *)0)->device)),
	FIELD(source, TEXT, sizeof(((struct vt_card_profile *)0)->source)),
	FIELD(total_bytes, SIZE, 0),
	FIELD(usable_bytes, SIZE, 0),
	FIELD(context_bytes, SIZE, 0),
	FIELD(l2_bytes, SIZE, 0),
	FIELD(shared_per_block_optin_bytes, SMALL_SIZE, 0),
	FIELD(shared_per_sm_bytes, SMALL_SIZE, 0),
	FIELD(capability, CAPABILITY, 0),
	FIELD(nr_sms, NUMBER, 1024),
	FIELD(max_threads_per_sm, NUMBER, 65536),
	FIELD(max_blocks_per_sm, NUMBER, 1024),
	FIELD(clock_khz, NUMBER, 100000000),
	FIELD(memory_clock_khz, NUMBER, 100000000),
	FIELD(memory_bus_bits, NUMBER, 65536),
	FIELD(driver_version, DRIVER, 0),
	OPTION("memory", total_bytes, MEMORY, 0),
	OPTION("other", other_bytes, SIZE, 0),
	OPTION("module", module_bytes, SIZE, 0),
	OPTION("graph_node", graph_node_bytes, SMALL_SIZE, 0),
	OPTION("nccl", nccl_bytes, SIZE, 0),
	OPTION("count", nr_devices, NUMBER, VT_CARD_MAX_DEVICES),
	OPTION("driver", driver_version, DRIVER, 0),
	OPTION("rank", rank, RANK, 65536),
	OPTION("routing", routing, ROUTING, sizeof(((struct vt_card_profile *)0)->routing)),
};

/* Limits of an architecture: the table of compute capabilities in the CUDA programming guide. */
static const struct architecture {
	int capability, max_threads_per_sm, max_blocks_per_sm, shared_kib, shared_optin_kib;
} architectures[] = {
	{ 50, 2048, 32, 64, 48 },    { 52, 2048, 32, 96, 48 },   { 53, 2048, 32, 64, 48 },
	{ 60, 2048, 32, 64, 48 },    { 61, 2048, 32, 96, 48 },   { 62, 2048, 32, 64, 48 },
	{ 70, 2048, 32, 96, 96 },    { 72, 2048, 32, 96, 96 },   { 75, 1024, 16, 64, 64 },
	{ 80, 2048, 32, 164, 163 },  { 86, 1536, 16, 100, 99 },  { 87, 1536, 16, 164, 163 },
	{ 89, 1536, 24, 100, 99 },   { 90, 2048, 32, 228, 227 }, { 100, 2048, 32, 228, 227 },
	{ 103, 2048, 32, 228, 227 }, { 120, 1536, 24, 100, 99 }, { 121, 1536, 24, 100, 99 },
};

static const struct architecture *find_architecture(int capability)
{
	for (size_t i = 0; i < ARRAY_SIZE(architectures); i++)
		if (architectures[i].capability == capability)
			return &architectures[i];
	return NULL;
}

/* A whole number from 1 to `most`. */
static int parse_number(const char *text, size_t most, int *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || number < 1 || number > most)
		return -1;
	*value = (int)number;
	return 0;
}

/* "9.0" and "90" -> 90 */
static int parse_capability(const char *text, int *value)
{
	unsigned major, minor;
	char rest;

	if (sscanf(text, "%2u.%1u%c", &major, &minor, &rest) == 2)
		*value = (int)(major * 10 + minor);
	else if (parse_number(text, 999, value))
		return -1;
	return find_architecture(*value) ? 0 : -1;
}

/* "12.4" and "12040" -> 12040 */
static int parse_driver(const char *text, int *value)
{
	unsigned major, minor;
	char rest;

	if (sscanf(text, "%2u.%1u%c", &major, &minor, &rest) == 2)
		*value = (int)(major * 1000 + minor * 10);
	else if (parse_number(text, 99990, value))
		return -1;
	return *value >= 5000 ? 0 : -1;
}

static int parse_size(const char *text, uint64_t least, uint64_t *bytes)
{
	uint64_t parsed;

	if (vt_size_parse(text, &parsed) || (parsed && parsed < least))
		return -1;
	*bytes = parsed;
	return 0;
}

/* Both figures of the memory change by the same number of bytes. */
static int set_memory(struct vt_card_profile *card, const char *text)
{
	uint64_t held_back = card->total_bytes - card->usable_bytes, total = 0;

	if (parse_size(text, LEAST_SIZE, &total) || total <= held_back)
		return -1;
	card->total_bytes = total;
	card->usable_bytes = total - held_back;
	return 0;
}

/* "3/256": the fourth of 256 */
static int set_rank(struct vt_card_profile *card, const char *text, size_t most)
{
	unsigned rank, nr_ranks;
	char rest;

	if (sscanf(text, "%6u/%6u%c", &rank, &nr_ranks, &rest) != 2 || nr_ranks > most ||
	    rank >= nr_ranks)
		return -1;
	card->rank = (int)rank;
	card->nr_ranks = (int)nr_ranks;
	return 0;
}

/* "balanced", or "skew:4": one expert gets four times the mean. */
static int set_routing(char *place, const char *text, size_t most)
{
	double times;
	char rest;

	if (strlen(text) >= most || (strcmp(text, "balanced") &&
				     (sscanf(text, "skew:%5lf%c", &times, &rest) != 1 ||
				      !(times >= 1 && times <= MOST_SKEW))))
		return -1;
	memcpy(place, text, strlen(text) + 1);
	return 0;
}

static int store(struct vt_card_profile *card, const struct field *field, const char *value)
{
	void *place = (char *)card + field->offset;

	switch (field->kind) {
	case TEXT:
		if (!*value || strlen(value) >= field->most)
			return -1;
		memcpy(place, value, strlen(value) + 1);
		return 0;
	case SIZE:
		return parse_size(value, LEAST_SIZE, place);
	case SMALL_SIZE:
		return parse_size(value, 1024, place);
	case NUMBER:
		return parse_number(value, field->most, place);
	case CAPABILITY:
		return parse_capability(value, place);
	case DRIVER:
		return parse_driver(value, place);
	case MEMORY:
		return set_memory(card, value);
	case RANK:
		return set_rank(card, value, field->most);
	case ROUTING:
		return set_routing(place, value, field->most);
	}
	return -1;
}

static int explain(const struct field *field, const char *value, struct vt_card_error *error)
{
	char needs[64];

	switch (field->kind) {
	case TEXT:
		snprintf(needs, sizeof(needs), "a text of 1 to %zu bytes", field->most - 1);
		break;
	case NUMBER:
		snprintf(needs, sizeof(needs), "a number from 1 to %zu", field->most);
		break;
	case CAPABILITY:
		snprintf(needs, sizeof(needs), "a known compute capability such as 9.0");
		break;
	case DRIVER:
		snprintf(needs, sizeof(needs), "a CUDA version such as 12.4");
		break;
	case ROUTING:
		snprintf(needs, sizeof(needs), "balanced, or skew: and a number from 1 to %d",
			 MOST_SKEW);
		break;
	case RANK:
		snprintf(needs, sizeof(needs), "a rank and the number of ranks such as 0/256");
		break;
	default:
		snprintf(needs, sizeof(needs), "a size with its unit such as %s",
			 field->kind == SMALL_SIZE ? "100KiB" : "24GiB");
	}
	snprintf(error->text, sizeof(error->text), "%s=%.64s: needs %s", field->key, value, needs);
	return -1;
}

static int refuse_key(const char *key, int has_options, struct vt_card_error *error)
{
	struct vt_nearest nearest;
	char names[128];

	vt_nearest_init(&nearest, key);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (has_options || !fields[i].is_option)
			vt_nearest_offer(&nearest, fields[i].key, strlen(fields[i].key));
	snprintf(error->text, sizeof(error->text), "unknown key \"%.48s\"; nearest: %s", key,
		 vt_nearest_text(&nearest, names, sizeof(names)));
	return -1;
}

static int set(struct vt_card_profile *card, const char *key, const char *value, int has_options,
	       struct vt_card_error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcmp(fields[i].key, key) && (has_options || !fields[i].is_option))
			return store(card, &fields[i], value) ? explain(&fields[i], value, error)
							      : 0;
	return refuse_key(key, has_options, error);
}

static void imply(struct vt_card_profile *card, const struct architecture *is)
{
	if (!card->max_threads_per_sm)
		card->max_threads_per_sm = is->max_threads_per_sm;
	if (!card->max_blocks_per_sm)
		card->max_blocks_per_sm = is->max_blocks_per_sm;
	if (!card->shared_per_sm_bytes)
		card->shared_per_sm_bytes = (uint64_t)is->shared_kib << 10;
	if (!card->shared_per_block_optin_bytes)
		card->shared_per_block_optin_bytes = (uint64_t)is->shared_optin_kib << 10;
}

/* What the file leaves out. */
static int complete(struct vt_card_profile *card, struct vt_card_error *error)
{
	const struct architecture *is = find_architecture(card->capability);
	const char *missing = !card->device[0]     ? "device"
			      : !card->total_bytes ? "total_bytes"
			      : !is                ? "capability"
			      : !card->nr_sms      ? "nr_sms"
						   : NULL;

	if (missing) {
		snprintf(error->text, sizeof(error->text), "[%s] has no %s", card->name, missing);
		return -1;
	}
	if (!card->usable_bytes)
		card->usable_bytes = card->total_bytes;
	imply(card, is);
	card->is_context_assumed = !card->context_bytes;
	if (!card->context_bytes)
		card->context_bytes = VT_CARD_CONTEXT_BYTES;
	card->graph_node_bytes = VT_CARD_GRAPH_NODE_BYTES;
	card->nccl_bytes = card->capability == 90 ? VT_CARD_NCCL_BYTES : 0;
	return 0;
}

/* What no section and no option may leave behind. */
static int check(const struct vt_card_profile *card, struct vt_card_error *error)
{
	const char *wrong = NULL;

	if (card->usable_bytes > card->total_bytes)
		wrong = "usable_bytes is more than total_bytes";
	else if (card->context_bytes >= card->usable_bytes)
		wrong = "the context leaves no memory";
	else if (card->other_bytes >= card->usable_bytes)
		wrong = "other= leaves no memory";
	if (wrong)
		snprintf(error->text, sizeof(error->text), "%s", wrong);
	return wrong ? -1 : 0;
}

static int is_section(const struct vt_ini_entry *entry, const char *name)
{
	return strlen(name) == entry->section_len &&
	       !memcmp(entry->section, name, entry->section_len);
}

/* Distances to all names take longer than all else here, and most names are right. */
static void refuse_name(const char *text, const char *name, struct vt_card_error *error)
{
	struct vt_ini_entry entry;
	struct vt_nearest nearest;
	const char *last = NULL;
	char names[128];
	struct vt_ini ini;
	int rc;

	vt_nearest_init(&nearest, name);
	vt_ini_init(&ini, text, strlen(text));
	while ((rc = vt_ini_next(&ini, &entry))) {
		if (rc < 0 || !entry.section_len || entry.section == last)
			continue;
		last = entry.section;
		vt_nearest_offer(&nearest, entry.section, entry.section_len);
	}
	snprintf(error->text, sizeof(error->text), "unknown card; nearest: %s",
		 vt_nearest_text(&nearest, names, sizeof(names)));
}

/* Finds the section, takes the only one where none was named; its name is then in `card`. */
static int choose_section(struct vt_card_profile *card, const char *text, const char *name,
			  struct vt_card_error *error)
{
	struct vt_ini_entry entry;
	const char *last = NULL;
	struct vt_ini ini;
	int nr = 0, rc;

	vt_ini_init(&ini, text, strlen(text));
	while ((rc = vt_ini_next(&ini, &entry))) {
		if (rc < 0 || !entry.section_len || entry.section == last)
			continue;
		last = entry.section;
		nr++;
		if (!name || is_section(&entry, name))
			snprintf(card->name, sizeof(card->name), "%.*s", (int)entry.section_len,
				 entry.section);
	}
	if (card->name[0] && (name || nr == 1))
		return 0;
	if (name)
		refuse_name(text, name, error);
	else
		snprintf(error->text, sizeof(error->text), "needs one section, [NAME], and has %d",
			 nr);
	return -1;
}

static int read_entry(struct vt_card_profile *card, const struct vt_ini_entry *entry,
		      struct vt_card_error *error)
{
	char key[64], value[256];
	struct vt_card_error why;

	snprintf(key, sizeof(key), "%.*s", (int)entry->key_len, entry->key);
	snprintf(value, sizeof(value), "%.*s", (int)entry->value_len, entry->value);
	if (!set(card, key, value, 0, &why))
		return 0;
	snprintf(error->text, sizeof(error->text), "line %u: %.230s", entry->line, why.text);
	return -1;
}

int vt_card_profile_read(struct vt_card_profile *card, const char *text, const char *name,
			 struct vt_card_error *error)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int rc;

	memset(card, 0, sizeof(*card));
	card->driver_version = 13000;
	card->nr_devices = 1;
	if (choose_section(card, text, name, error))
		return -1;
	vt_ini_init(&ini, text, strlen(text));
	while ((rc = vt_ini_next(&ini, &entry))) {
		if (rc < 0) {
			snprintf(error->text, sizeof(error->text), "line %u: no \"key = value\"",
				 entry.line);
			return -1;
		}
		if (is_section(&entry, card->name) && read_entry(card, &entry, error))
			return -1;
	}
	return complete(card, error) || check(card, error) ? -1 : 0;
}

/* An option: it may change what others of the card follow from. */
static int change(struct vt_card_profile *card, const char *key, const char *value,
		  struct vt_card_error *error)
{
	int before = card->capability;

	if (set(card, strcmp(key, "total_bytes") ? key : "memory", value, 1, error))
		return -1;
	if (!strcmp(key, "context_bytes"))
		card->is_context_assumed = 0;
	if (card->capability != before) {
		card->max_threads_per_sm = card->max_blocks_per_sm = 0;
		card->shared_per_sm_bytes = card->shared_per_block_optin_bytes = 0;
		imply(card, find_architecture(card->capability));
	}
	return 0;
}

int vt_card_profile_change(struct vt_card_profile *card, const char *options,
			   struct vt_card_error *error)
{
	while (*options) {
		size_t len = strcspn(options, ",");
		char option[256], *value;

		snprintf(option, sizeof(option), "%.*s", (int)len, options);
		value = strchr(option, '=');
		if (len && (!value || len >= sizeof(option))) {
			snprintf(error->text, sizeof(error->text), "%.64s: needs key=value",
				 option);
			return -1;
		}
		if (value)
			*value++ = '\0';
		if (len && change(card, option, value, error))
			return -1;
		options += len + (options[len] == ',');
	}
	return check(card, error);
}

size_t vt_card_profile_split(const char *choice, int *is_file)
{
	size_t len = strcspn(choice, ",");

	*is_file = memchr(choice, '/', len) != NULL ||
		   (len > 4 && !memcmp(choice + len - 4, ".ini", 4));
	return len;
}
