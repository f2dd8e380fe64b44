/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config_values.h"

#include <string.h>

#include "analyzer/planner/families.h"

static uint64_t number_of(const struct vt_config_values *values, const char *key,
			  const json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value) && number >= 0 && number <= VT_CONFIG_MAX_SIZE)
		return (uint64_t)number;
	vt_diag_set(values->diag, VT_EXIT_UNREADABLE,
		    "%s: %s: must be a whole number from 0 to %d", values->where, key,
		    VT_CONFIG_MAX_SIZE);
	return 0;
}

/* The first of the keys that has a value; its name goes to *key. */
static const json_t *find(const struct vt_config_values *values, const char *name, char *keys,
			  size_t size, const char **key)
{
	const json_t *value;
	char *save;

	vt_families_get(values->family, name, keys, size);
	*key = strtok_r(keys, " ", &save);
	for (const char *at = *key; at; at = strtok_r(NULL, " ", &save)) {
		value = json_object_get(values->object, at);
		if (value && !json_is_null(value)) {
			*key = at;
			return value;
		}
	}
	return NULL;
}

uint64_t vt_config_size(const struct vt_config_values *values, const char *name, uint64_t fallback)
{
	char keys[256];
	const char *key;
	const json_t *value = find(values, name, keys, sizeof(keys), &key);

	return value ? number_of(values, key, value) : fallback;
}

uint64_t vt_config_required(const struct vt_config_values *values, const char *name)
{
	char keys[256];
	const char *key;
	const json_t *value = find(values, name, keys, sizeof(keys), &key);
	uint64_t number = value ? number_of(values, key, value) : 0;

	if (!number)
		vt_diag_set(values->diag, VT_EXIT_UNREADABLE, "%s: %s: %s", values->where,
			    key ? key : name, value ? "must be at least 1" : "missing");
	return number;
}

uint64_t vt_config_key(const struct vt_config_values *values, const char *key, uint64_t fallback)
{
	const json_t *value = json_object_get(values->object, key);

	return value && !json_is_null(value) ? number_of(values, key, value) : fallback;
}

int vt_config_flag(const struct vt_config_values *values, const char *key, int fallback)
{
	const json_t *value = json_object_get(values->object, key);

	if (!value || json_is_null(value))
		return fallback;
	if (!json_is_boolean(value))
		vt_diag_set(values->diag, VT_EXIT_UNREADABLE, "%s: %s: must be true or false",
			    values->where, key);
	return json_is_true(value);
}

const char *vt_config_text(const struct vt_config_values *values, const char *key)
{
	return json_string_value(json_object_get(values->object, key));
}
