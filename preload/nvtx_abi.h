/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_NVTX_ABI_H
#define VT_PRELOAD_NVTX_ABI_H

/*
 * The part of NVTX version 3's binary interface that a tool needs, written from the published
 * headers (nvToolsExt.h, nvtxDetail/nvtxTypes.h).  NVTX is header-only: every library that uses it
 * has its own copy and asks the tool for callbacks once, the first time it marks anything.
 */

#include <stddef.h>
#include <stdint.h>

/* What the loader in NVTX reads to find the tool, and what it calls there; 1 = the tool is in. */
#define VT_NVTX_VARIABLE "NVTX_INJECTION64_PATH"

typedef void (*vt_nvtx_function_fn)(void);
typedef const void *(*vt_nvtx_export_table_fn)(uint32_t table);

#define VT_NVTX_TABLE_CALLBACKS 1 /* NVTX_ETID_CALLBACKS */

/* NvtxExportTableCallbacks.  The table has one address of a function pointer per callback. */
struct vt_nvtx_callbacks {
	size_t struct_size;
	int (*get_table)(int module, vt_nvtx_function_fn ***table, unsigned int *size);
};

/* NvtxCallbackModule */
enum {
	VT_NVTX_MODULE_CORE = 1,
	VT_NVTX_MODULE_CORE2 = 5,
};

/* NvtxCallbackIdCore */
enum {
	VT_NVTX_MARK_EX = 1,
	VT_NVTX_MARK_A = 2,
	VT_NVTX_MARK_W = 3,
	VT_NVTX_RANGE_START_EX = 4,
	VT_NVTX_RANGE_START_A = 5,
	VT_NVTX_RANGE_START_W = 6,
	VT_NVTX_RANGE_END = 7,
	VT_NVTX_RANGE_PUSH_EX = 8,
	VT_NVTX_RANGE_PUSH_A = 9,
	VT_NVTX_RANGE_PUSH_W = 10,
	VT_NVTX_RANGE_POP = 11,
};

/* NvtxCallbackIdCore2 */
enum {
	VT_NVTX_DOMAIN_MARK_EX = 1,
	VT_NVTX_DOMAIN_RANGE_START_EX = 2,
	VT_NVTX_DOMAIN_RANGE_END = 3,
	VT_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	VT_NVTX_DOMAIN_RANGE_POP = 5,
	VT_NVTX_DOMAIN_REGISTER_STRING_A = 10,
	VT_NVTX_DOMAIN_REGISTER_STRING_W = 11,
};

/* nvtxMessageType_t */
enum {
	VT_NVTX_MESSAGE_ASCII = 1,
	VT_NVTX_MESSAGE_UNICODE = 2,
	VT_NVTX_MESSAGE_REGISTERED = 3,
};

/* nvtxEventAttributes_t, version 2 */
struct vt_nvtx_event {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;	/* char *, wchar_t *, or what registering the string returned */
};
_Static_assert(offsetof(struct vt_nvtx_event, message) == 40, "layout");
_Static_assert(sizeof(struct vt_nvtx_event) == 48, "layout");

/*
 * What nvtxRangePush and nvtxRangePop return when a tool keeps no count
 * (NVTX_NO_PUSH_POP_TRACKING).
 */
#define VT_NVTX_NO_COUNT (-2)

#endif
