/* SPDX-License-Identifier: MIT */
#ifndef VTS_CONTROL_H
#define VTS_CONTROL_H

/*
 * What the simulator adds to a client that is a Python with PyTorch: data_dependent.py (operators
 * whose sizes come from the device answer as for zeros) and control_values.py (small integers and
 * booleans that a program decides by are computed on the host; VTRACE_SIM_CONTROL_VALUES=0 leaves
 * them as unknown as every other value).  And one_rank.py where VTRACE_SIM_RANK=RANK/RANKS says
 * that the process is one rank of a job whose others are not there.
 */

/*
 * Called by the simulated runtime, which finds it by name, when it makes a context: asks the
 * interpreter to run the scripts once, at its next safe point.  Needs neither the GIL nor memory;
 * does nothing where there is no Python.
 */
void vtrace_simulator_context_made(void);

/* As above, when a library of the client registers its kernels: as it is being loaded. */
void vtrace_simulator_client_loads(void);

#endif
