/* SPDX-License-Identifier: MIT */
/* The last error of a thread, and the names of the errors. */
#include "runtime.h"

struct description {
	int number;
	const char *name;
	const char *text;
};

static const struct description descriptions[] = {
#define ERROR(number, name, text) {number, #name, text},
#include "errors.def"
#undef ERROR
};

static __thread int last_error;

int vts_error_set(int error)
{
	if (error)
		last_error = error;
	return error;
}

ENTRY(cudaGetLastError, void)
{
	int error = last_error;

	last_error = VTS_SUCCESS;
	return error;
}

ENTRY(cudaPeekAtLastError, void)
{
	return last_error;
}

static const struct description *find(int error)
{
	for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++)
		if (descriptions[i].number == error)
			return &descriptions[i];
	return NULL;
}

const char *cudaGetErrorName(int error);
VTS_EXPORT const char *cudaGetErrorName(int error)
{
	const struct description *description = find(error);

	return description ? description->name : "unrecognized error code";
}

const char *cudaGetErrorString(int error);
VTS_EXPORT const char *cudaGetErrorString(int error)
{
	const struct description *description = find(error);

	return description ? description->text : "unrecognized error code";
}
