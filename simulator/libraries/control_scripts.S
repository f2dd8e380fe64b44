/* SPDX-License-Identifier: MIT */
/* The scripts as texts, each ended by a NUL: nothing need be found on disk at run time. */
	.macro script name, file
	.globl \name
	.hidden \name
	.type \name, @object
\name:
	.incbin "\file"
	.byte 0
	.size \name, .-\name
	.endm

	.section .rodata
	script vts_control_data_dependent, "data_dependent.py"
	script vts_control_one_rank, "one_rank.py"
	script vts_control_values, "control_values.py"
	.section .note.GNU-stack, "", @progbits
