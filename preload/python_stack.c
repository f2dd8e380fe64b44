/* SPDX-License-Identifier: MIT */
/*
 * Finding the interpreter costs a few symbol look-ups: done when the journal opens, and again now
 * and then as long as there is none, for programs that load Python later.
 */

#include "preload/python_stack.h"

#include "preload/python_abi.h"
#include "preload/python_code.h"
#include "preload/python_read.h"
#include "preload/python_self.h"
#include "preload/real.h"
#include "preload/stacks.h"
#include "preload/thread_state.h"
#include "preload/info.h"

/* Entry frames lie between frames with code; a chain longer than this is damaged. */
#define LONGEST_CHAIN (4 * VT_STACK_MAX_FRAMES)

/* Captures between two look-ups while there is no interpreter: 1, 2, 4, ... up to this. */
#define LONGEST_PAUSE 4096u

enum state {
	STATE_ABSENT = 0,
	STATE_SEARCHING, /* one thread looks, the others go without */
	STATE_READY,
	STATE_REFUSED,
};

static struct {
	int state;	 /* atomic, enum state; the rest is written before READY */
	uint32_t missed; /* atomic: captures since the start */
	uint32_t next;	 /* look again when missed reaches this */
	struct vt_python python;
} g;

/* The interpreter is the program itself or in the global scope; an embedder may have hidden it. */
void *vt_python_stack_symbol(const char *symbol)
{
	void *address = vt_real_symbol_global(symbol);

	return address ? address : vt_real_symbol_in("libpython3", symbol);
}

static void search(void)
{
	enum vt_python_answer answer = vt_python_abi_find(&g.python, vt_python_stack_symbol);
	enum state state = STATE_ABSENT;

	if (answer == VT_PYTHON_READY) {
		state = STATE_READY;
		vt_info_once("python", g.python.version);
	} else if (answer == VT_PYTHON_REFUSED) {
		state = STATE_REFUSED;
		vt_info_once("python", g.python.version);
		vt_info_once("python_stacks", "none: this Python is not known");
	}
	__atomic_store_n(&g.state, state, __ATOMIC_RELEASE);
}

/* Whether g.python may be used. */
static int is_ready(void)
{
	int state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);
	uint32_t missed;

	if (state != STATE_ABSENT)
		return state == STATE_READY;
	missed = __atomic_fetch_add(&g.missed, 1, __ATOMIC_RELAXED);
	if (missed < __atomic_load_n(&g.next, __ATOMIC_RELAXED))
		return 0;
	if (!__atomic_compare_exchange_n(&g.state, &state, STATE_SEARCHING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&g.next, missed + (missed < LONGEST_PAUSE ? missed + 1 : LONGEST_PAUSE),
			 __ATOMIC_RELAXED);
	search();
	return __atomic_load_n(&g.state, __ATOMIC_RELAXED) == STATE_READY;
}

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

static uint32_t instruction_bytes(const struct vt_python_abi *abi, const void *frame,
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

/* The code that a frame runs, or NULL for a frame without. */
static const void *code_of(const struct vt_python *python, const void *frame)
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

static const void *innermost_frame(const struct vt_python *python)
{
	const struct vt_python_abi *abi = &python->abi;
	const void *thread = python->thread_state();

	if (thread && abi->thread_cframe)
		thread = vt_python_read_pointer(thread, abi->thread_cframe);
	return thread ? vt_python_read_pointer(thread, abi->thread_frame) : NULL;
}

static unsigned int walk(const struct vt_python *python, struct vt_python_frame *frames)
{
	const void *frame = innermost_frame(python), *code;
	struct vt_thread *thread = vt_thread_self();
	unsigned int nr = 0, steps;

	thread->module_call = 0;
	for (steps = 0; frame && nr < VT_STACK_MAX_FRAMES && steps < LONGEST_CHAIN; steps++) {
		code = code_of(python, frame);
		if (code) {
			frames[nr].code = vt_python_code_id(&python->abi, code);
			frames[nr].instruction_bytes = instruction_bytes(&python->abi, frame, code);
			frames[nr].reserved = 0;
			vt_python_self_find(python, frame, code, &frames[nr]);
			if (frames[nr].self_type && vt_python_code_is_call(frames[nr].code))
				thread->module_call = frames[nr].self_address;
			nr++;
		}
		frame = vt_python_read_pointer(frame, python->abi.frame_previous);
	}
	return nr;
}

const struct vt_python *vt_python_stack_interpreter(void)
{
	return is_ready() && !g.python.is_finalizing() ? &g.python : NULL;
}

uint32_t vt_python_stack_capture(void)
{
	struct vt_python_frame frames[VT_STACK_MAX_FRAMES];
	unsigned int nr;

	if (!vt_python_stack_interpreter())
		return 0;
	nr = walk(&g.python, frames);
	return nr ? vt_stacks_intern_python(frames, nr) : 0;
}

int vt_python_stack_reset(void)
{
	vt_python_self_reset();
	g.missed = 0;
	g.next = 0;
	__atomic_store_n(&g.state, STATE_ABSENT, __ATOMIC_RELEASE);
	return vt_python_code_reset();
}
