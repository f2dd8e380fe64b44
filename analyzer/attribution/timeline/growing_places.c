/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/growing_places.h"

static struct vt_growing_place *find_place(struct vt_growing_places *places,
					   const struct vt_carried_tensor *one)
{
	struct vt_growing_place fresh = {
		one->type, one->frame, one->occurrence, 0, 0, 0, 0, 0, 0
	};

	for (size_t i = 0; i < places->len; i++)
		if (places->items[i].type == one->type && places->items[i].frame == one->frame &&
		    places->items[i].occurrence == one->occurrence)
			return &places->items[i];
	vt_vector_push(places, fresh);
	return &places->items[places->len - 1];
}

void vt_growing_places_follow(struct vt_growing_places *places, uint32_t position,
			      const vt_carried_vector *handed)
{
	for (size_t i = 0, end; i < handed->len; i = end) {
		const struct vt_carried_tensor *one = &handed->items[i];
		struct vt_growing_place *place = find_place(places, one);
		uint64_t least = one->size_bytes;

		for (end = i + 1;
		     end < handed->len && vt_carried_tensors_is_same(one, &handed->items[end]);
		     end++)
			if (least > handed->items[end].size_bytes)
				least = handed->items[end].size_bytes;
		if (place->is_known && place->position == position - 1) {
			place->nr_steps++;
			place->nr_grown += least > place->size_bytes;
			place->has_shrunk |=
				least < place->size_bytes &&
				!vt_carried_tensors_is_as_large(least, place->size_bytes);
		}
		place->is_known = 1;
		place->position = position;
		place->size_bytes = least;
	}
}

/*
 * The sizes of large blocks vary by themselves (carried_tensors.h): those have to grow nearly
 * every time.
 */
static int is_growing(const struct vt_growing_place *place)
{
	int varies = vt_carried_tensors_is_as_large(place->size_bytes, place->size_bytes - 1);

	return place->nr_grown && !place->has_shrunk &&
	       (!varies || place->nr_grown * 4 >= place->nr_steps * 3);
}

int vt_growing_places_go_on(const struct vt_growing_places *places, uint32_t position)
{
	int is_met = 0;

	for (size_t i = 0; i < places->len; i++) {
		const struct vt_growing_place *place = &places->items[i];

		if (place->position != position)
			continue;
		if (place->has_shrunk)
			return 0;
		is_met |= place->nr_steps > 0;
	}
	return is_met;
}

int vt_growing_places_has_any(const struct vt_growing_places *places)
{
	for (size_t i = 0; i < places->len; i++)
		if (is_growing(&places->items[i]))
			return 1;
	return 0;
}

int vt_growing_places_has(const struct vt_growing_places *places,
			  const struct vt_carried_tensor *one, uint32_t position)
{
	for (size_t i = 0; i < places->len; i++)
		if (places->items[i].type == one->type && places->items[i].frame == one->frame &&
		    places->items[i].occurrence == one->occurrence && is_growing(&places->items[i]))
			return position <= places->items[i].position ||
			       one->size_bytes >= places->items[i].size_bytes;
	return 0;
}
