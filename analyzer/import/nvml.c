/* SPDX-License-Identifier: MIT */
#include "analyzer/import/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"

/* nvml.h: results, and what it returns where a value is not known (NVML_VALUE_NOT_AVAILABLE). */
#define SUCCESS           0
#define INSUFFICIENT_SIZE 7
#define NOT_AVAILABLE     UINT64_MAX

/* Room for processes that start between the two calls of a look-up. */
#define SPARE_PROCESSES 16

struct memory {
	unsigned long long total, free, used;
};

/* `reserved` is the driver's own; the first version counts it as used. */
struct memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 (sizeof(struct memory_v2) | 2u << 24)

/*
 * Of version 2.  Version 3 has the same structure, but drivers 535.43 to 535.86 have one more
 * member in it (nvtop's extract_gpuinfo_nvidia.c), so it is asked last.
 */
struct process {
	unsigned int pid;
	unsigned long long used;
	unsigned int gpu_instance, compute_instance;
};

#define CALLS(X)                                                                                   \
	X(init, "nvmlInit_v2", (void))                                                             \
	X(shutdown, "nvmlShutdown", (void))                                                        \
	X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *, struct vt_nvml_device **))          \
	X(memory, "nvmlDeviceGetMemoryInfo", (struct vt_nvml_device *, struct memory *))           \
	X(memory_v2, "nvmlDeviceGetMemoryInfo_v2",                                                 \
	  (struct vt_nvml_device *, struct memory_v2 *))                                           \
	X(processes, "nvmlDeviceGetComputeRunningProcesses_v2",                                    \
	  (struct vt_nvml_device *, unsigned int *, struct process *))                             \
	X(processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3",                                 \
	  (struct vt_nvml_device *, unsigned int *, struct process *))

struct vt_nvml {
	void *library;
#define MEMBER(name, symbol, parameters) int(*name) parameters;
	CALLS(MEMBER)
#undef MEMBER
};

struct vt_nvml *vt_nvml_open(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	struct vt_nvml *nvml;

	if (!library)
		return NULL;
	nvml = vt_xcalloc(1, sizeof(*nvml));
	nvml->library = library;
#define FIND(name, symbol, parameters) *(void **)&nvml->name = dlsym(library, symbol);
	CALLS(FIND)
#undef FIND
	if (nvml->init && nvml->by_uuid && (nvml->memory || nvml->memory_v2) &&
	    nvml->init() == SUCCESS)
		return nvml;
	dlclose(library);
	free(nvml);
	return NULL;
}

void vt_nvml_close(struct vt_nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->shutdown)
		nvml->shutdown();
	dlclose(nvml->library);
	free(nvml);
}

struct vt_nvml_device *vt_nvml_find(struct vt_nvml *nvml, const char *uuid)
{
	static const char *const prefixes[] = { "GPU", "MIG" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(prefixes); i++) {
		struct vt_nvml_device *device = NULL;
		char text[64];

		snprintf(text, sizeof(text), "%s-%s", prefixes[i], uuid);
		if (nvml->by_uuid(text, &device) == SUCCESS)
			return device;
	}
	return NULL;
}

static int look_at_memory(struct vt_nvml *nvml, struct vt_nvml_device *device, uint64_t *used_bytes)
{
	struct memory_v2 newer = { .version = MEMORY_V2 };
	struct memory memory = { 0 };

	if (nvml->memory_v2 && nvml->memory_v2(device, &newer) == SUCCESS) {
		*used_bytes = newer.used;
		return 0;
	}
	if (!nvml->memory || nvml->memory(device, &memory) != SUCCESS)
		return -1;
	*used_bytes = memory.used;
	return 0;
}

/* Whether NVML knows what that process uses. */
static int look_at_process(struct vt_nvml *nvml, struct vt_nvml_device *device, uint32_t pid,
			   uint64_t *used_bytes)
{
	int (*ask)(struct vt_nvml_device *, unsigned int *, struct process *) =
		nvml->processes ? nvml->processes : nvml->processes_v3;
	struct process *list;
	unsigned int nr = 0;
	int found = 0, result;

	if (!ask)
		return 0;
	result = ask(device, &nr, NULL);
	if (result != INSUFFICIENT_SIZE && (result != SUCCESS || !nr))
		return 0;
	nr += SPARE_PROCESSES;
	list = vt_xcalloc(nr, sizeof(*list));
	result = ask(device, &nr, list);
	for (unsigned int i = 0; result == SUCCESS && i < nr && !found; i++)
		if (list[i].pid == pid && list[i].used != NOT_AVAILABLE) {
			*used_bytes = list[i].used;
			found = 1;
		}
	free(list);
	return found;
}

int vt_nvml_look(struct vt_nvml *nvml, struct vt_nvml_device *device, uint32_t pid,
		 struct vt_nvml_use *use)
{
	uint64_t again;

	memset(use, 0, sizeof(*use));
	if (look_at_memory(nvml, device, &use->total_used_bytes))
		return -1;
	use->has_process = look_at_process(nvml, device, pid, &use->process_used_bytes);
	if (look_at_memory(nvml, device, &again) || again != use->total_used_bytes)
		return -1;
	return use->has_process && use->process_used_bytes > use->total_used_bytes ? -1 : 0;
}
