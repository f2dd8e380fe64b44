/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills.  The direction argument is checked and otherwise ignored: addresses are
 * unified, the driver knows where they lie.
 */
#include "runtime.h"

#include <string.h>

enum { LAST_DIRECTION = 4, INVALID_DIRECTION = 21, UNIFIED = 4, WIDE_ROW_ERROR = 12 };

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static int check_direction(int direction)
{
	if (direction < 0 || direction > LAST_DIRECTION)
		return INVALID_DIRECTION;
	return vts_context_enter();
}

static int describe_2d(struct vts_copy_2d *copy, void *to, size_t to_pitch, const void *from,
		       size_t from_pitch, size_t width, size_t height)
{
	if (width > to_pitch || width > from_pitch)
		return WIDE_ROW_ERROR;
	memset(copy, 0, sizeof(*copy));
	copy->from_type = UNIFIED;
	copy->from_device = address_of(from);
	copy->from_pitch_bytes = from_pitch;
	copy->to_type = UNIFIED;
	copy->to_device = address_of(to);
	copy->to_pitch_bytes = to_pitch;
	copy->width_bytes = width;
	copy->height = height;
	return VTS_SUCCESS;
}

static int copy(const struct vts_driver *driver, void *to, const void *from, size_t size_bytes,
		int direction)
{
	int error = check_direction(direction);

	if (!error && size_bytes)
		error = VTS_CALL_OF(driver, cuMemcpy, address_of(to), address_of(from), size_bytes);
	return vts_error_set(error);
}

static int copy_async(const struct vts_driver *driver, void *to, const void *from,
		      size_t size_bytes, int direction, void *stream)
{
	int error = check_direction(direction);

	if (!error && size_bytes)
		error = VTS_CALL_OF(driver, cuMemcpyAsync, address_of(to), address_of(from),
				    size_bytes, stream);
	return vts_error_set(error);
}

static int copy_2d(const struct vts_driver *driver, void *to, size_t to_pitch, const void *from,
		   size_t from_pitch, size_t width, size_t height, int direction)
{
	struct vts_copy_2d shape;
	int error = check_direction(direction);

	if (!error)
		error = describe_2d(&shape, to, to_pitch, from, from_pitch, width, height);
	if (!error && width && height)
		error = VTS_CALL_OF(driver, cuMemcpy2DUnaligned, &shape);
	return vts_error_set(error);
}

static int copy_2d_async(const struct vts_driver *driver, void *to, size_t to_pitch,
			 const void *from, size_t from_pitch, size_t width, size_t height,
			 int direction, void *stream)
{
	struct vts_copy_2d shape;
	int error = check_direction(direction);

	if (!error)
		error = describe_2d(&shape, to, to_pitch, from, from_pitch, width, height);
	if (!error && width && height)
		error = VTS_CALL_OF(driver, cuMemcpy2DAsync, &shape, stream);
	return vts_error_set(error);
}

static int fill(const struct vts_driver *driver, void *pointer, int value, size_t count)
{
	int error = vts_context_enter();

	if (!error && count)
		error = VTS_CALL_OF(driver, cuMemsetD8, address_of(pointer), (unsigned char)value,
				    count);
	return vts_error_set(error);
}

static int fill_async(const struct vts_driver *driver, void *pointer, int value, size_t count,
		      void *stream)
{
	int error = vts_context_enter();

	if (!error && count)
		error = VTS_CALL_OF(driver, cuMemsetD8Async, address_of(pointer),
				    (unsigned char)value, count, stream);
	return vts_error_set(error);
}

/* Synchronous calls have _ptds (default stream), asynchronous ones _ptsz (stream zero). */
/* clang-format off */
ENTRY_PER_STREAM(cudaMemcpy, _ptds, copy,
	(void *to, const void *from, size_t size_bytes, int direction),
	(driver, to, from, size_bytes, direction))
ENTRY_PER_STREAM(cudaMemcpyAsync, _ptsz, copy_async,
	(void *to, const void *from, size_t size_bytes, int direction, void *stream),
	(driver, to, from, size_bytes, direction, stream))
ENTRY_PER_STREAM(cudaMemcpy2D, _ptds, copy_2d,
	(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	 size_t height, int direction),
	(driver, to, to_pitch, from, from_pitch, width, height, direction))
ENTRY_PER_STREAM(cudaMemcpy2DAsync, _ptsz, copy_2d_async,
	(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	 size_t height, int direction, void *stream),
	(driver, to, to_pitch, from, from_pitch, width, height, direction, stream))
ENTRY_PER_STREAM(cudaMemset, _ptds, fill,
	(void *pointer, int value, size_t count),
	(driver, pointer, value, count))
ENTRY_PER_STREAM(cudaMemsetAsync, _ptsz, fill_async,
	(void *pointer, int value, size_t count, void *stream),
	(driver, pointer, value, count, stream))
/* clang-format on */

ENTRY(cudaMemset2DAsync, void *pointer, size_t pitch, int value, size_t width, size_t height,
      void *stream)
{
	return VTS_IN_CONTEXT(cuMemsetD2D8Async, address_of(pointer), pitch, (unsigned char)value,
			      width, height, stream);
}

ENTRY(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device,
      size_t size_bytes, void *stream)
{
	void *to_context, *from_context;
	int error = vts_context_enter();

	if (!error)
		error = vts_context_of_device(to_device, &to_context);
	if (!error)
		error = vts_context_of_device(from_device, &from_context);
	if (!error && size_bytes)
		error = VTS_CALL(cuMemcpyPeerAsync, address_of(to), to_context, address_of(from),
				 from_context, size_bytes, stream);
	return vts_error_set(error);
}
