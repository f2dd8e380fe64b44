/* SPDX-License-Identifier: MIT */
/*
 * Layouts of CPython.  The numbers of 3.9 to 3.12 are offsetof() over the interpreter's own headers
 * (Include/internal with Py_BUILD_CORE); these structures do not change between patch releases,
 * which the unit test checks against every interpreter it finds.
 */

#include "preload/python_abi.h"

#include <stddef.h>
#include <string.h>

#define OLDEST_MINOR	9
#define NEWEST_MINOR	14
#define PUBLISHED_SINCE 13

/* What all of 3.9 to 3.12 share. */
#define COMMON_OBJECTS                                                                             \
	.object_type = 8, .type_flags = 168, .type_name = 24, .type_free = 48, .type_mro = 344,    \
	.tuple_length = 16, .tuple_items = 24, .cell_content = 16, .bytes_length = 16,             \
	.bytes_data = 32, .string_length = 16, .string_hash = 24, .string_state = 32

/* Until 3.11 a string also had a wchar_t pointer. */
#define WIDE_STRINGS	.string_ascii = 48, .string_compact = 72
#define NARROW_STRINGS	.string_ascii = 40, .string_compact = 56

static const struct vt_python_abi layouts[] = {
	{
		.minor = 9,
		.thread_frame = 24, .frame_code = 32, .frame_previous = 24,
		.frame_instruction = 104, .frame_locals = 360,
		.code_arguments = 16, .code_first_line = 40, .code_file = 104, .code_name = 112,
		.code_qualname = 112, .code_lines = 120, .code_locals = 28,
		.code_cell_arguments = 96, .code_cells = 88,
		COMMON_OBJECTS, WIDE_STRINGS,
	},
	{
		.minor = 10,
		.thread_frame = 24, .frame_code = 32, .frame_previous = 24,
		.frame_instruction = 96, .frame_locals = 352,
		.code_arguments = 16, .code_first_line = 40, .code_file = 104, .code_name = 112,
		.code_qualname = 112, .code_lines = 120, .code_locals = 28,
		.code_cell_arguments = 96, .code_cells = 88,
		COMMON_OBJECTS, WIDE_STRINGS,
	},
	{
		.minor = 11,
		.thread_cframe = 56, .thread_frame = 8, .frame_code = 32, .frame_previous = 48,
		.frame_instruction = 56, .frame_owner = 69, .frame_locals = 72,
		.code_arguments = 56, .code_first_line = 72, .code_file = 112, .code_name = 120,
		.code_qualname = 128, .code_lines = 136, .code_bytecode = 184,
		COMMON_OBJECTS, WIDE_STRINGS,
	},
	{
		.minor = 12,
		.thread_cframe = 56, .thread_frame = 0, .frame_code = 0, .frame_previous = 8,
		.frame_instruction = 56, .frame_owner = 70, .frame_locals = 72,
		.code_arguments = 52, .code_first_line = 68, .code_file = 112, .code_name = 120,
		.code_qualname = 128, .code_lines = 136, .code_bytecode = 192,
		COMMON_OBJECTS, NARROW_STRINGS,
	},
};

/*
 * From 3.13 on _PyRuntime begins with struct _Py_DebugOffsets (Include/internal/pycore_runtime.h,
 * then pycore_debug_offsets.h): a cookie, PY_VERSION_HEX, a flag, and 64-bit offsets.  The
 * structure grew in between, so each row has the place of a field in 3.13's and in 3.14's.
 */
#define COOKIE "xdebugpy"
#define COOKIE_BYTES 8
#define VERSION_AT 8
#define FREE_THREADED_AT 16
#define PUBLISHED_OFFSETS(X)                                                                       \
	X(thread_frame, 184, 208)                                                                  \
	X(frame_previous, 232, 256)                                                                \
	X(frame_code, 240, 264)                                                                    \
	X(frame_instruction, 248, 272)                                                             \
	X(frame_locals, 256, 280)                                                                  \
	X(frame_owner, 264, 288)                                                                   \
	X(code_file, 280, 320)                                                                     \
	X(code_name, 288, 328)                                                                     \
	X(code_qualname, 296, 336)                                                                 \
	X(code_lines, 304, 344)                                                                    \
	X(code_first_line, 312, 352)                                                               \
	X(code_arguments, 320, 360)                                                                \
	X(code_bytecode, 344, 384)                                                                 \
	X(object_type, 360, 408)                                                                   \
	X(type_flags, 392, 440)                                                                    \
	X(type_name, 376, 424)                                                                     \
	X(tuple_items, 408, 456)                                                                   \
	X(tuple_length, 416, 464)                                                                  \
	X(bytes_length, 520, 600)                                                                  \
	X(bytes_data, 528, 608)                                                                    \
	X(string_state, 544, 624)                                                                  \
	X(string_length, 552, 632)                                                                 \
	X(string_ascii, 560, 640) /* sizeof(PyASCIIObject) */

/* Only 3.14 has these, and only its free-threaded build uses them. */
#define FRAME_COPY_AT	304
#define CODE_COPIES_AT	392

/*
 * No structure that is read has a field beyond this: a larger offset means that this is something
 * else.
 */
#define LARGEST_OFFSET	4096

static uint64_t published(const void *runtime, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)runtime + at, sizeof(value));
	return value;
}

/* One published offset; sets *bad where it cannot be one. */
static uint16_t published_offset(const void *runtime, size_t at, int *bad)
{
	uint64_t value = published(runtime, at);

	if (value >= LARGEST_OFFSET)
		*bad = 1;
	return (uint16_t)value;
}

static int read_published(struct vt_python_abi *abi, unsigned minor, const void *runtime)
{
	const int is_old = minor == PUBLISHED_SINCE;
	int bad = 0;

	if (!runtime || memcmp(runtime, COOKIE, COOKIE_BYTES) != 0)
		return -1;
	if (published(runtime, VERSION_AT) >> 16 != (0x300u | minor))
		return -1;

	memset(abi, 0, sizeof(*abi));
	abi->minor = (uint8_t)minor;
	abi->is_free_threaded = published(runtime, FREE_THREADED_AT) == 1;
#define READ_OFFSET(name, at13, at14)                                                              \
	abi->name = published_offset(runtime, is_old ? (at13) : (at14), &bad);
	PUBLISHED_OFFSETS(READ_OFFSET)
#undef READ_OFFSET
	if (abi->is_free_threaded && !is_old) {
		abi->frame_copy = published_offset(runtime, FRAME_COPY_AT, &bad);
		abi->code_copies = published_offset(runtime, CODE_COPIES_AT, &bad);
	}

	/*
	 * Not published: what follows the object header in two structures that all versions share
	 * (PyTypeObject's public part has not moved since 3.9), a string's hash, which follows its
	 * length, and the two fields utf8_length and utf8 that a non-ASCII string has before its
	 * characters.
	 */
	abi->type_free = (uint16_t)(abi->type_name + 24);
	abi->type_mro = (uint16_t)(abi->type_name + 320);
	abi->cell_content = (uint16_t)(abi->object_type + 8);
	abi->string_hash = (uint16_t)(abi->string_length + 8);
	abi->string_compact = (uint16_t)(abi->string_ascii + 16);
	return bad ? -1 : 0;
}

int vt_python_abi_layout(struct vt_python_abi *abi, unsigned minor, const void *runtime)
{
	if (minor < OLDEST_MINOR || minor > NEWEST_MINOR)
		return -1;
	if (minor >= PUBLISHED_SINCE)
		return read_published(abi, minor, runtime);
	*abi = layouts[minor - OLDEST_MINOR];
	return 0;
}

/* "3.11.7 (main, ...)" -> python->version and 11; 0 if it does not start like that. */
static unsigned read_version(struct vt_python *python, const char *text)
{
	unsigned minor = 0;
	size_t len = strcspn(text, " ");

	if (len >= sizeof(python->version))
		len = sizeof(python->version) - 1;
	memcpy(python->version, text, len);
	python->version[len] = '\0';
	if (strncmp(text, "3.", 2) != 0)
		return 0;
	for (text += 2; *text >= '0' && *text <= '9' && minor < 100; text++)
		minor = minor * 10 + (unsigned)(*text - '0');
	return minor;
}

enum vt_python_answer vt_python_abi_find(struct vt_python *python, vt_python_find_fn find)
{
	const char *(*get_version)(void) = (const char *(*)(void))find("Py_GetVersion");
	unsigned minor;

	memset(python, 0, sizeof(*python));
	python->thread_state = (void *(*)(void))find("PyGILState_GetThisThreadState");
	if (!get_version || !python->thread_state)
		return VT_PYTHON_ABSENT;
	minor = read_version(python, get_version());
	/* Public since 3.13, exported under the private name before. */
	python->is_finalizing = (int (*)(void))find("Py_IsFinalizing");
	if (!python->is_finalizing)
		python->is_finalizing = (int (*)(void))find("_Py_IsFinalizing");
	python->code_type = find("PyCode_Type");
	python->cell_type = find("PyCell_Type");
	if (!python->is_finalizing || !python->code_type || !python->cell_type)
		return VT_PYTHON_REFUSED;
	/*
	 * Built to trace references: until 3.12 every object then has two more pointers in front.
	 */
	if (minor < PUBLISHED_SINCE && find("_Py_PrintReferences"))
		return VT_PYTHON_REFUSED;
	if (vt_python_abi_layout(&python->abi, minor, find("_PyRuntime")) < 0)
		return VT_PYTHON_REFUSED;
	return VT_PYTHON_READY;
}
