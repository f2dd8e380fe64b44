/* SPDX-License-Identifier: MIT */
/* Built twice, with stack frames of FRAME_BYTES: same code length, so the same addresses. */

__attribute__((visibility("default"), noinline))
void frame_call(void (*function)(void *argument), void *argument);

void frame_call(void (*function)(void *argument), void *argument)
{
	volatile char pad[FRAME_BYTES];

	pad[0] = 1;
	pad[sizeof(pad) - 1] = pad[0];
	function(argument);
	pad[0] = pad[sizeof(pad) - 1];
}
