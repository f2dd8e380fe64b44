/* SPDX-License-Identifier: MIT */
/* Devices and their properties, asked from the driver's attributes. */
#include "runtime.h"

#include <string.h>

enum {
	ABSENT = -1,
#if VTS_CUDART_MAJOR >= 13
	PROPERTIES_SIZE = 1008,
#elif VTS_CUDART_MAJOR == 12
	PROPERTIES_SIZE = 1032,
#else
	/* The first fields of 12. */
	PROPERTIES_SIZE = 728,
#endif
	/* The same in all layouts. */
	NAME_OFFSET = 0,
	NAME_SIZE = 256,
	UUID_OFFSET = 256,
	TOTAL_MEMORY_OFFSET = 288,
};

struct property {
	int offset;
	int size;
	int attribute;
};

static const struct property properties[] = {
#if VTS_CUDART_MAJOR >= 13
#define PROPERTY(type, field, in_12, in_13, attribute) {in_13, sizeof(type), attribute},
#else
#define PROPERTY(type, field, in_12, in_13, attribute) {in_12, sizeof(type), attribute},
#endif
#include "properties.def"
#undef PROPERTY
};

static int store_property(char *answer, const struct property *property, int device)
{
	int value = 0;
	size_t wide;
	int error;

	if (property->offset == ABSENT || property->offset + property->size > PROPERTIES_SIZE)
		return VTS_SUCCESS;
	error = VTS_CALL(cuDeviceGetAttribute, &value, property->attribute, device);
	if (error)
		return error;
	wide = (size_t)value;
	if (property->size == (int)sizeof(wide))
		memcpy(answer + property->offset, &wide, sizeof(wide));
	else
		memcpy(answer + property->offset, &value, sizeof(value));
	return VTS_SUCCESS;
}

static int fill_properties(char *answer, int device)
{
	size_t total = 0;
	int error;
	size_t i;

	memset(answer, 0, PROPERTIES_SIZE);
	error = VTS_CALL(cuDeviceGetName, answer + NAME_OFFSET, NAME_SIZE, device);
	if (error)
		return error;
	VTS_CALL(cuDeviceGetUuid, answer + UUID_OFFSET, device);
	error = VTS_CALL(cuDeviceTotalMem, &total, device);
	memcpy(answer + TOTAL_MEMORY_OFFSET, &total, sizeof(total));
	for (i = 0; !error && i < sizeof(properties) / sizeof(properties[0]); i++)
		error = store_property(answer, &properties[i], device);
	return error;
}

#if VTS_CUDART_MAJOR != 12
ENTRY(cudaGetDeviceProperties, void *answer, int device)
#else
ENTRY(cudaGetDeviceProperties_v2, void *answer, int device)
#endif
{
	int handle;
	int error = vts_driver_init() ?: VTS_CALL(cuDeviceGet, &handle, device);

	return vts_error_set(error ?: fill_properties(answer, handle));
}

ENTRY(cudaGetDeviceCount, int *count)
{
	int error = vts_driver_init();

	if (!error)
		error = VTS_CALL(cuDeviceGetCount, count);
	if (!error && !*count)
		error = VTS_NO_DEVICE;
	if (error)
		*count = 0;
	return vts_error_set(error);
}

/* cudaDeviceAttr and CUdevice_attribute share their numbers. */
ENTRY(cudaDeviceGetAttribute, int *value, int attribute, int device)
{
	return VTS_INITIALIZED(cuDeviceGetAttribute, value, attribute, device);
}

ENTRY(cudaDeviceGetPCIBusId, char *id, int len, int device)
{
	return VTS_INITIALIZED(cuDeviceGetPCIBusId, id, len, device);
}

ENTRY(cudaDeviceGetByPCIBusId, int *device, const char *id)
{
	return VTS_INITIALIZED(cuDeviceGetByPCIBusId, device, id);
}

ENTRY(cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
	return VTS_INITIALIZED(cuDeviceCanAccessPeer, can, device, peer);
}

ENTRY(cudaSetDeviceFlags, unsigned int flags)
{
	int device = 0;
	int error = vts_driver_init() ?: vts_context_device(&device);

	return vts_error_set(error ?: VTS_CALL(cuDevicePrimaryCtxSetFlags, device, flags));
}

ENTRY(cudaGetDeviceFlags, unsigned int *flags)
{
	int active;
	int device = 0;
	int error = vts_driver_init() ?: vts_context_device(&device);

	return vts_error_set(error ?: VTS_CALL(cuDevicePrimaryCtxGetState, device, flags, &active));
}

ENTRY(cudaDriverGetVersion, int *version)
{
	int error = VTS_CALL(cuDriverGetVersion, version);

	/* Without a driver the answer is version 0 and success. */
	if (error)
		*version = 0;
	return VTS_SUCCESS;
}

enum {
	/* The wheels of torch 1.13, 2.6 and 2.11 were built with these. */
	RUNTIME_VERSION = VTS_CUDART_MAJOR >= 13 ? 13000 : VTS_CUDART_MAJOR == 12 ? 12040 : 11070,
};

ENTRY(cudaRuntimeGetVersion, int *version)
{
	if (!version)
		return vts_error_set(VTS_INVALID_VALUE);
	*version = RUNTIME_VERSION;
	return VTS_SUCCESS;
}

ENTRY(cudaProfilerStart, void)
{
	return VTS_IN_CONTEXT(cuProfilerStart);
}

ENTRY(cudaProfilerStop, void)
{
	return VTS_IN_CONTEXT(cuProfilerStop);
}

/* cudaDriverEntryPointQueryResult: 0 found, 1 symbol not found, 2 version not sufficient. */
static int get_entry_point(const char *name, void **function, unsigned int version, uint64_t flags,
			   int *result)
{
	int status = 0;
	int error;

	if (!name || !function)
		return vts_error_set(VTS_INVALID_VALUE);
	error = vts_driver_find(name, (int)version, flags, function, &status);
	if (result)
		*result = status;
	else if (!error && !*function)
		error = VTS_SYMBOL_NOT_FOUND;
	return vts_error_set(error);
}

ENTRY(cudaGetDriverEntryPointByVersion, const char *name, void **function, unsigned int version,
      uint64_t flags, int *result)
{
	return get_entry_point(name, function, version, flags, result);
}

/* Without a version: that of the runtime. */
#if VTS_CUDART_MAJOR == 12
ENTRY(cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags, int *result)
{
	return get_entry_point(name, function, RUNTIME_VERSION, flags, result);
}
#elif VTS_CUDART_MAJOR == 11
ENTRY(cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags)
{
	return get_entry_point(name, function, RUNTIME_VERSION, flags, NULL);
}
#endif
