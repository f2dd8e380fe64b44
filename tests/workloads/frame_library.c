/* SPDX-License-Identifier: MIT */
/*
 * A library whose one function has a frame of FRAME_BYTES: two of them have the same code at the
 * same places, but for that number.
 */
void through(void (*function)(void *argument), void *argument);

__attribute__((visibility("default"))) void through(void (*function)(void *argument),
						    void *argument)
{
	volatile char room[FRAME_BYTES];

	room[0] = 1;
	function(argument);
	room[FRAME_BYTES - 1] = room[0];
}
