/* SPDX-License-Identifier: MIT */
/*
 * cuDNN's graph interface ("backend descriptors") as far as a client can see it from outside: a
 * heuristic finds one engine, an engine configuration becomes a plan, a plan wants a workspace,
 * executing it does nothing.
 */
#include <string.h>

#include "maths.h"

enum {
	SUCCESS = 0,
	/* cudnnBackendAttributeName_t */
	ENGINEHEUR_RESULTS = 202,
	ENGINECFG_ENGINE = 300,
	ENGINECFG_WORKSPACE_SIZE = 303,
	ENGINECFG_SHARED_MEMORY_USED = 304,
	EXECUTION_PLAN_WORKSPACE_SIZE = 402,
	OPERATIONGRAPH_ENGINE_GLOBAL_COUNT = 802,
	ENGINE_GLOBAL_INDEX = 1301,
};

static int backend_create_descriptor(int type, void **descriptor)
{
	(void)type;
	*descriptor = vts_maths_new_handle();
	return SUCCESS;
}

static void store(void *array, int64_t wanted, int64_t value, size_t size)
{
	if (array && wanted > 0)
		memcpy(array, &value, size);
}

/*
 * Clients ask for a count with wanted 0, then for the elements.  The results of a heuristic and the
 * engine of a configuration are descriptors that the client made itself: there is nothing to write
 * into them.
 */
static int backend_get_attribute(void *descriptor, int name, int type, int64_t wanted,
				 int64_t *count, void *array)
{
	int64_t found = 1;

	(void)descriptor, (void)type;
	switch (name) {
	case ENGINEHEUR_RESULTS:
	case ENGINECFG_ENGINE:
		break;
	case ENGINECFG_WORKSPACE_SIZE:
	case EXECUTION_PLAN_WORKSPACE_SIZE:
	case ENGINE_GLOBAL_INDEX:
		store(array, wanted, 0, sizeof(int64_t));
		break;
	case ENGINECFG_SHARED_MEMORY_USED:
		store(array, wanted, 0, sizeof(int32_t));
		break;
	case OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
		store(array, wanted, 1, sizeof(int64_t));
		break;
	default:
		found = 0;
	}
	if (count)
		*count = found;
	return SUCCESS;
}

const struct vts_maths_function vts_maths_cudnn_functions[] = {
	{"cudnnBackendCreateDescriptor", (void *)backend_create_descriptor},
	{"cudnnBackendGetAttribute", (void *)backend_get_attribute},
	{NULL, NULL},
};
