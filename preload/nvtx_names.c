/* SPDX-License-Identifier: MIT */
#include "preload/nvtx_names.h"

#include <stdint.h>
#include <string.h>

#include "preload/sys.h"
#include "preload/utf8.h"

#define CHUNK_BYTES (64u << 10)

/* Kept names, one after the other; full chunks are never looked at again. */
struct chunk {
	size_t used; /* atomic; may exceed the room by failed attempts */
	char bytes[CHUNK_BYTES - sizeof(size_t)];
};

static struct {
	struct chunk *chunk; /* atomic */
} g;

void vt_nvtx_names_narrow(struct vt_nvtx_name *name, const char *text)
{
	name->len = text ? strnlen(text, VT_NVTX_LONGEST_NAME) : 0;
	if (name->len)
		memcpy(name->text, text, name->len);
	name->text[name->len] = '\0';
}

void vt_nvtx_names_wide(struct vt_nvtx_name *name, const wchar_t *text)
{
	size_t nr;

	name->len = 0;
	for (; text && *text; text++) {
		nr = vt_utf8_encode((uint32_t)*text, name->text + name->len,
				    VT_NVTX_LONGEST_NAME - name->len);
		if (nr == 0)
			break;
		name->len += nr;
	}
	name->text[name->len] = '\0';
}

const char *vt_nvtx_names_keep(const struct vt_nvtx_name *name)
{
	const size_t bytes = name->len + 1;
	struct chunk *chunk = __atomic_load_n(&g.chunk, __ATOMIC_ACQUIRE), *fresh;
	size_t at;

	for (;;) {
		at = chunk ? __atomic_fetch_add(&chunk->used, bytes, __ATOMIC_RELAXED) : 0;
		if (chunk && at + bytes <= sizeof(chunk->bytes))
			return memcpy(chunk->bytes + at, name->text, bytes);
		fresh = vt_sys_map_private(sizeof(*fresh));
		if (!fresh)
			return NULL;
		/* On failure `chunk` is what another thread installed meanwhile. */
		if (__atomic_compare_exchange_n(&g.chunk, &chunk, fresh, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			chunk = fresh;
		else
			vt_sys_unmap(fresh, sizeof(*fresh));
	}
}
