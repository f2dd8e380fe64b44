/* SPDX-License-Identifier: MIT */
/* The text of control_values.py, ended by a NUL: nothing need be found on disk at run time. */
	.section .rodata
	.globl vts_control_source
	.hidden vts_control_source
	.type vts_control_source, @object
vts_control_source:
	.incbin "control_values.py"
	.byte 0
	.size vts_control_source, .-vts_control_source
	.section .note.GNU-stack, "", @progbits
