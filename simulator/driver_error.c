/* SPDX-License-Identifier: MIT */
/* cuGetErrorName, cuGetErrorString. */
#include "simulator/driver_call.h"

static const struct {
	CUresult code;
	const char *name;
	const char *text;
} ERRORS[] = {
#define ERROR(code, text) { code, #code, text }
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
	ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
	ERROR(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
	ERROR(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
	ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution"),
	ERROR(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
	ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
	ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported"),
	ERROR(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
	ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
	ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
	ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
	ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context is active"),
	ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "part or all of the requested memory range is already mapped"),
	ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
	      "pointer does not correspond to a registered memory region"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "driver and system library do not match"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      "operation not permitted when stream is capturing"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	      "operation failed due to a previous error during capture"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not initiated in this stream"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	      "operation would make the legacy stream depend on a capturing one"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "capture was begun by another thread"),
	ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

static CUresult describe(CUresult code, const char **text, int wants_name)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = NULL;
	for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++)
		if (ERRORS[i].code == code)
			*text = wants_name ? ERRORS[i].name : ERRORS[i].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult code, const char **text)
{
	VTS_ENTER(VTS_NEEDS_NOTHING);
	return vts_call_leave(describe(code, text, 1));
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
	VTS_ENTER(VTS_NEEDS_NOTHING);
	return vts_call_leave(describe(code, text, 0));
}
