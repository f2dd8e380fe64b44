/* SPDX-License-Identifier: MIT */
#include "simulator/driver_profile.h"

#include "common/ini.h"
#include "simulator/driver_size.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PROFILE "h100-80g"
#define MAX_FILE_BYTES	(64 * 1024)

static struct {
	pthread_once_t once;
	struct vts_profile profile;
} g = { .once = PTHREAD_ONCE_INIT };

enum value_kind { TEXT, BYTES, INTEGER };

#define FIELD(name, kind) { #name, kind, offsetof(struct vts_profile, name) }
static const struct field {
	const char *key;
	enum value_kind kind;
	size_t offset;
} FIELDS[] = {
	FIELD(device, TEXT),
	FIELD(total_bytes, BYTES),
	FIELD(usable_bytes, BYTES),
	FIELD(context_bytes, BYTES),
	FIELD(l2_bytes, BYTES),
	FIELD(shared_per_block_optin_bytes, BYTES),
	FIELD(shared_per_sm_bytes, BYTES),
	FIELD(capability, INTEGER),
	FIELD(nr_sms, INTEGER),
	FIELD(max_threads_per_sm, INTEGER),
	FIELD(max_blocks_per_sm, INTEGER),
	FIELD(clock_khz, INTEGER),
	FIELD(memory_clock_khz, INTEGER),
	FIELD(memory_bus_bits, INTEGER),
	FIELD(driver_version, INTEGER),
};

static int store_value(struct vts_profile *profile, const struct field *field, const char *value)
{
	char *place = (char *)profile + field->offset;
	uint64_t bytes;

	switch (field->kind) {
	case TEXT:
		if (strlen(value) >= sizeof(profile->device))
			return -1;
		strcpy(place, value);
		return 0;
	case BYTES:
		if (vts_size_parse(value, &bytes))
			return -1;
		memcpy(place, &bytes, sizeof(bytes));
		return 0;
	case INTEGER:
		*(int *)(void *)place = atoi(value);
		return 0;
	}
	return -1;
}

/* Keys that are not ours (library workspaces, sources) are for other readers of the same file. */
static int store_entry(struct vts_profile *profile, const struct vt_ini_entry *entry)
{
	char value[128];

	snprintf(value, sizeof(value), "%.*s", (int)entry->value_len, entry->value);
	for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++)
		if (strlen(FIELDS[i].key) == entry->key_len &&
		    !memcmp(FIELDS[i].key, entry->key, entry->key_len))
			return store_value(profile, &FIELDS[i], value);
	return 0;
}

static int read_section(struct vts_profile *profile, const char *text, size_t len)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int is_found = 0;
	int rc;

	vt_ini_init(&ini, text, len);
	while ((rc = vt_ini_next(&ini, &entry))) {
		if (rc < 0 || entry.section_len != strlen(profile->name) ||
		    memcmp(entry.section, profile->name, entry.section_len))
			continue;
		is_found = 1;
		if (store_entry(profile, &entry)) {
			fprintf(stderr, "vtrace simulator: profiles.ini:%u: bad value\n",
				entry.line);
			return -1;
		}
	}
	return is_found ? 0 : -1;
}

static int read_file(const char *path, char *text, size_t capacity, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	*len = 0;
	while (*len < capacity && (got = read(fd, text + *len, capacity - *len)) > 0)
		*len += (size_t)got;
	close(fd);
	return 0;
}

static int read_profile(struct vts_profile *profile)
{
	static char text[MAX_FILE_BYTES];
	char path[PATH_MAX];
	Dl_info self;
	char *slash;
	size_t len;

	if (!dladdr((void *)(uintptr_t)vts_profile_get, &self) || !self.dli_fname)
		return -1;
	snprintf(path, sizeof(path), "%s", self.dli_fname);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 16, "profiles.ini");
	if (read_file(path, text, sizeof(text), &len)) {
		fprintf(stderr, "vtrace simulator: cannot read %s\n", path);
		return -1;
	}
	if (read_section(profile, text, len)) {
		fprintf(stderr, "vtrace simulator: no usable profile \"%s\" in %s\n",
			profile->name, path);
		return -1;
	}
	return 0;
}

/* "12.4" -> 12040 */
static int parse_driver(const char *text, int *version)
{
	int major, minor, used = 0;

	if (sscanf(text, "%d.%d%n", &major, &minor, &used) != 2 || text[used] || major < 5 ||
	    minor < 0 || minor > 9)
		return -1;
	*version = major * 1000 + minor * 10;
	return 0;
}

static int apply_memory(struct vts_profile *profile, const char *text)
{
	uint64_t held_back = profile->total_bytes - profile->usable_bytes;
	uint64_t total;

	if (vts_size_parse(text, &total) || total <= held_back)
		return -1;
	profile->total_bytes = total;
	profile->usable_bytes = total - held_back;
	return 0;
}

static int apply_option(struct vts_profile *profile, const char *option)
{
	if (!strncmp(option, "memory=", 7))
		return apply_memory(profile, option + 7);
	if (!strncmp(option, "other=", 6))
		return vts_size_parse(option + 6, &profile->other_bytes);
	if (!strncmp(option, "module=", 7))
		return vts_size_parse(option + 7, &profile->module_bytes);
	if (!strncmp(option, "driver=", 7))
		return parse_driver(option + 7, &profile->driver_version);
	if (!strncmp(option, "count=", 6)) {
		profile->nr_devices = atoi(option + 6);
		return profile->nr_devices < 1 || profile->nr_devices > VTS_MAX_DEVICES ? -1 : 0;
	}
	return -1;
}

static int configure(struct vts_profile *profile)
{
	const char *wanted = getenv("VTRACE_SIM_PROFILE");
	char text[256];
	char *save = NULL;
	char *option;

	snprintf(text, sizeof(text), "%s", wanted && *wanted ? wanted : DEFAULT_PROFILE);
	option = strtok_r(text, ",", &save);
	snprintf(profile->name, sizeof(profile->name), "%s", option ? option : DEFAULT_PROFILE);
	if (read_profile(profile))
		return -1;
	profile->nr_devices = 1;
	while ((option = strtok_r(NULL, ",", &save)))
		if (apply_option(profile, option)) {
			fprintf(stderr, "vtrace simulator: VTRACE_SIM_PROFILE: bad option \"%s\"\n",
				option);
			return -1;
		}
	if (profile->other_bytes >= profile->usable_bytes) {
		fprintf(stderr, "vtrace simulator: VTRACE_SIM_PROFILE: other= leaves nothing\n");
		return -1;
	}
	return 0;
}

static void load(void)
{
	if (configure(&g.profile)) {
		g.profile.nr_devices = 0;
		g.profile.driver_version = g.profile.driver_version ?: 13000;
	}
}

const struct vts_profile *vts_profile_get(void)
{
	pthread_once(&g.once, load);
	return &g.profile;
}
