/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config_values.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/planner/families.h"

json_t *vt_config_fill(const json_t *object, const char *family)
{
	json_t *whole = json_copy((json_t *)object);
	char keys[128], *save, *number;

	vt_families_get(family, "missing", keys, sizeof(keys));
	for (char *key = strtok_r(keys, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		number = strchr(key, ':');
		*number++ = '\0';
		if (!json_object_get(whole, key))
			json_object_set_new(whole, key, json_integer(strtoll(number, NULL, 10)));
	}
	return whole;
}

const json_t *vt_config_get(const struct vt_config_values *values, const char *key)
{
	if (values->asked)
		json_object_set_new(values->asked, key, json_true());
	return json_object_get(values->object, key);
}

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
		value = vt_config_get(values, at);
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
	const json_t *value = vt_config_get(values, key);

	return value && !json_is_null(value) ? number_of(values, key, value) : fallback;
}

int vt_config_flag(const struct vt_config_values *values, const char *key, int fallback)
{
	const json_t *value = vt_config_get(values, key);

	if (!value || json_is_null(value))
		return fallback;
	if (!json_is_boolean(value))
		vt_diag_set(values->diag, VT_EXIT_UNREADABLE, "%s: %s: must be true or false",
			    values->where, key);
	return json_is_true(value);
}

const char *vt_config_text(const struct vt_config_values *values, const char *key)
{
	return json_string_value(vt_config_get(values, key));
}

/* Names of sizes; a number that scales or a part of the model may cost as much. */
static int is_size(const char *key, const json_t *value)
{
	static const char *const words[] = { "size", "dim", "rank", "layers", "heads", "experts",
					     "groups", "num_", "scal", "_config" };

	if (json_is_object(value) ? !json_object_size(value) :
				    !json_is_number(value) || json_number_value(value) <= 0)
		return 0;
	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (strstr(key, words[i]))
			return !json_is_object(value) || !strcmp(words[i], "_config");
	return 0;
}

static int is_unread(const struct vt_config_values *values, const char *key, const json_t *value)
{
	return is_size(key, value) && !json_object_get(values->asked, key) &&
	       !vt_families_has(values->family, "costs_nothing", key) &&
	       !vt_families_has(VT_FAMILY_FALLBACK, "costs_nothing", key);
}

double vt_config_unread_product(const struct vt_config_values *values, uint64_t width)
{
	double most = 0, second = 0;
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)values->object, key, value)
	{
		double number = json_is_integer(value) && is_unread(values, key, value) ?
					json_number_value(value) :
					0;

		if (number > VT_CONFIG_MAX_SIZE)
			number = VT_CONFIG_MAX_SIZE;
		if (number > most) {
			second = most;
			most = number;
		} else if (number > second) {
			second = number;
		}
	}
	return most * (second > 0 ? second : (double)width);
}

char *vt_config_unread(const struct vt_config_values *values)
{
	struct vt_buffer text;
	const json_t *value;
	const char *key;

	vt_buffer_init(&text);
	json_object_foreach((json_t *)values->object, key, value)
		if (is_unread(values, key, value))
			vt_buffer_printf(&text, "%s%.60s", text.len ? " " : "", key);
	return text.len ? vt_buffer_detach(&text) : NULL;
}
