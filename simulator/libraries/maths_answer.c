/* SPDX-License-Identifier: MIT */
#include "maths_rule.h"

#include <stdio.h>
#include <string.h>

#include "maths.h"

/* Integer arguments that maths_call.S finds in registers. */
#if defined(__aarch64__)
enum { NR_REGISTERS = 8 };
#else
enum { NR_REGISTERS = 6 };
#endif

const char vts_maths_text[] = "simulated by vtrace";

void *vts_maths_new_handle(void)
{
	/*
	 * In no mapping of any process (not canonical): a dereference must fault, not read
	 * something.
	 */
	static uint64_t last = 0x5654000000000000u;

	return (void *)(uintptr_t)__atomic_add_fetch(&last, 64, __ATOMIC_RELAXED);
}

static void write_answer(enum vts_maths_write kind, void *to)
{
	static const char zeros[96];
	const char *answer = vts_maths_text;
	void *handle;
	uint64_t size = kind == VTS_MATHS_WRITE_SIZE_2 ? 2 : kind == VTS_MATHS_WRITE_SIZE_1;
	int number = kind == VTS_MATHS_WRITE_INT_1;

	if (!to)
		return;
	switch (kind) {
	case VTS_MATHS_WRITE_NOTHING:
		break;
	case VTS_MATHS_WRITE_HANDLE:
		handle = vts_maths_new_handle();
		memcpy(to, &handle, sizeof(handle));
		break;
	case VTS_MATHS_WRITE_INT_0:
	case VTS_MATHS_WRITE_INT_1:
		memcpy(to, &number, sizeof(number));
		break;
	case VTS_MATHS_WRITE_SIZE_0:
	case VTS_MATHS_WRITE_SIZE_1:
	case VTS_MATHS_WRITE_SIZE_2:
		memcpy(to, &size, sizeof(size));
		break;
	case VTS_MATHS_WRITE_TEXT:
		memcpy(to, &answer, sizeof(answer));
		break;
	case VTS_MATHS_WRITE_ZEROS_48:
		memcpy(to, zeros, 48);
		break;
	case VTS_MATHS_WRITE_ZEROS_64:
		memcpy(to, zeros, 64);
		break;
	case VTS_MATHS_WRITE_ZEROS_96:
		memcpy(to, zeros, 96);
		break;
	}
}

uint64_t vts_maths_answer(const struct vts_stub_entry *entry, const uint64_t *registers,
			  const uint64_t *stack)
{
	const struct vts_maths_rule *rule = entry->data;
	uint64_t argument;
	int i;

	for (i = 0; i < VTS_MATHS_MAX_WRITES && rule->writes[i].kind; i++) {
		argument = rule->writes[i].argument < NR_REGISTERS
				   ? registers[rule->writes[i].argument]
				   : stack[rule->writes[i].argument - NR_REGISTERS];
		write_answer(rule->writes[i].kind, (void *)(uintptr_t)argument);
	}
	return rule->returns;
}

void vts_maths_tell(struct vts_stub_entry *entry)
{
	if (!__atomic_exchange_n(&entry->data, entry, __ATOMIC_RELAXED))
		fprintf(stderr, "vtrace simulator: %s returns success and does nothing\n",
			entry->name);
}
