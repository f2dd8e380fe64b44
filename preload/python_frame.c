/* SPDX-License-Identifier: MIT */
#include "preload/python_frame.h"

#include <stddef.h>

#include "common/journal_format.h"
#include "preload/python_read.h"

/* Where the bytecode that `frame` runs begins. */
static const char *bytecode_of(const struct vt_python_abi *abi, const void *frame, const void *code)
{
	const void *copies;
	int32_t index;

	if (!abi->code_copies)
		return (const char *)code + abi->code_bytecode;
	/* struct _PyCodeArray: a count, then one pointer per copy. */
	copies = vt_python_read_pointer(code, abi->code_copies);
	index = vt_python_read_int(frame, abi->frame_copy);
	if (!copies || index < 0 || index >= vt_python_read_size(copies, 0))
		return NULL;
	return vt_python_read_pointer(copies, (size_t)(index + 1) * sizeof(void *));
}

uint32_t vt_python_frame_instruction(const struct vt_python_abi *abi, const void *frame,
				     const void *code)
{
	const char *start, *now;
	int32_t last;

	if (abi->minor <= 10) {
		/* An instruction has two bytes; 3.10 counts instructions. */
		last = vt_python_read_int(frame, abi->frame_instruction);
		if (last < 0)
			return VT_PYTHON_NO_INSTRUCTION;
		return (uint32_t)last * (abi->minor == 10 ? 2 : 1);
	}
	start = bytecode_of(abi, frame, code);
	now = vt_python_read_pointer(frame, abi->frame_instruction);
	if (!start || now < start || now - start > INT32_MAX)
		return VT_PYTHON_NO_INSTRUCTION;
	return (uint32_t)(now - start);
}

const void *vt_python_frame_code(const struct vt_python *python, const void *frame)
{
	const struct vt_python_abi *abi = &python->abi;
	uintptr_t bits = (uintptr_t)vt_python_read_pointer(frame, abi->frame_code);
	const void *code = (const void *)(bits & ~(uintptr_t)VT_PYTHON_REFERENCE_TAG);

	if (abi->frame_owner &&
	    ((const unsigned char *)frame)[abi->frame_owner] >= VT_PYTHON_FIRST_CODELESS_OWNER)
		return NULL;
	if (!code || vt_python_read_type(abi, code) != python->code_type)
		return NULL;
	return code;
}

const void *vt_python_frame_innermost(const struct vt_python *python)
{
	const struct vt_python_abi *abi = &python->abi;
	const void *thread = python->thread_state();

	if (thread && abi->thread_cframe)
		thread = vt_python_read_pointer(thread, abi->thread_cframe);
	return thread ? vt_python_read_pointer(thread, abi->thread_frame) : NULL;
}
