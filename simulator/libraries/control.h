/* SPDX-License-Identifier: MIT */
#ifndef VTS_CONTROL_H
#define VTS_CONTROL_H

/*
 * Control values: small integer and boolean results that a program decides by (the stop test of
 * generate()) are computed on the host, by control_values.py inside the client's Python.
 * VTRACE_SIM_CONTROL_VALUES=0 leaves them as unknown as every other value.
 */

/*
 * Called by the simulated runtime, which finds it by name, when it makes a context: asks the
 * interpreter to run control_values.py once, at its next safe point.  Needs neither the GIL nor
 * memory; does nothing where there is no Python.
 */
void vtrace_simulator_context_made(void);

#endif
