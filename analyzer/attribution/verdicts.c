/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/verdicts.h"

#include <string.h>

#include "analyzer/model/model.h"

void vt_verdicts_init(struct vt_verdicts *verdicts, uint32_t nr_allocations)
{
	memset(verdicts, 0, sizeof(*verdicts));
	vt_narrow_init(&verdicts->of, nr_allocations);
}

void vt_verdicts_release(struct vt_verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->paths.len; i++)
		free(verdicts->paths.items[i]);
	vt_vector_release(&verdicts->paths);
	vt_vector_release(&verdicts->owner_of);
	vt_vector_release(&verdicts->path_of);
	vt_vector_release(&verdicts->items);
	vt_map_release(&verdicts->numbers);
	vt_map_release(&verdicts->path_numbers);
	vt_narrow_release(&verdicts->of);
	memset(verdicts, 0, sizeof(*verdicts));
}

/* Where a path's number is, or would be; two paths of one hash stand behind each other. */
static struct vt_key key_of(const struct vt_verdicts *verdicts, const char *path)
{
	struct vt_key key = vt_map_text_key(path, strlen(path));
	const uint64_t *number;

	while ((number = vt_map_find(&verdicts->path_numbers, key)) &&
	       strcmp(verdicts->paths.items[*number], path) != 0)
		key.c++;
	return key;
}

uint32_t vt_verdicts_path(struct vt_verdicts *verdicts, char *path)
{
	struct vt_key key = key_of(verdicts, path);
	const uint64_t *known = vt_map_find(&verdicts->path_numbers, key);

	if (known) {
		free(path);
		return (uint32_t)*known;
	}
	vt_map_put(&verdicts->path_numbers, key, verdicts->paths.len);
	vt_vector_push(&verdicts->paths, path);
	vt_vector_push(&verdicts->owner_of, VT_NO_INDEX);
	return (uint32_t)verdicts->paths.len - 1;
}

uint32_t vt_verdicts_number(struct vt_verdicts *verdicts, struct vt_verdict verdict)
{
	struct vt_key key = { verdict.owner, verdict.rule,
			      (uint64_t)verdict.provenance << 8 | verdict.training };
	const uint64_t *known = vt_map_find(&verdicts->numbers, key);

	if (known)
		return (uint32_t)*known;
	vt_vector_push(&verdicts->items, verdict);
	vt_map_put(&verdicts->numbers, key, verdicts->items.len);
	return (uint32_t)verdicts->items.len;
}

uint32_t vt_verdicts_owner(struct vt_verdicts *verdicts, uint32_t path)
{
	uint32_t *owner = &verdicts->owner_of.items[path];

	if (*owner == VT_NO_INDEX) {
		*owner = (uint32_t)verdicts->path_of.len;
		vt_vector_push(&verdicts->path_of, path);
	}
	return *owner;
}

void vt_verdicts_take(struct vt_verdicts *verdicts, const struct vt_verdicts *others,
		      uint32_t first, uint32_t end)
{
	uint32_t *numbers = vt_xcalloc(others->items.len + 1, sizeof(*numbers));

	for (size_t v = 0; v < others->items.len; v++) {
		struct vt_verdict verdict = others->items.items[v];
		const char *path = others->paths.items[verdict.owner];

		verdict.owner = vt_verdicts_path(verdicts, vt_xstrdup(path));
		numbers[v + 1] = vt_verdicts_number(verdicts, verdict);
	}
	for (uint32_t i = first; i < end; i++)
		vt_narrow_set(&verdicts->of, i, numbers[vt_narrow_get(&others->of, i)]);
	free(numbers);
}
