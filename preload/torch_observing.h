/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_OBSERVING_H
#define VT_PRELOAD_TORCH_OBSERVING_H

/*
 * When operators are observed.  An observer costs PyTorch a few tenths of its dispatch even if it
 * does nothing, and a program repeats itself: it is switched on while what the program does is new,
 * and off, which costs nothing, once it repeats.  New is a Python stack that has no number yet.
 *
 * On a real device the cost stays within a thousandth of the run's time, but for the first steps;
 * on a simulated one, where time means nothing, only the number of operators is limited.
 *
 * Context: hook, journal open, but where something else is said.  Any thread.
 */

#include <stdint.h>

#include "common/journal_format.h"
#include "preload/torch_callback.h"

/* The observer was added, and is on. */
void vt_torch_observing_start(uint64_t handle, vt_torch_switch_callback_fn disable,
			      vt_torch_switch_callback_fn enable);

/*
 * An operator begins while the observer is on, called from that Python stack.  Returns whether it
 * is to be recorded.
 */
int vt_torch_observing_count(uint32_t python_stack);
/* An operator was recorded. */
void vt_torch_observing_count_record(void);

/* Switches the observer off, for good or, in a fork child that records nothing, until it does. */
void vt_torch_observing_end(void);

/* A range of PyTorch ended: an optimizer's step may be over.  Context: also without a journal. */
void vt_torch_observing_note_range_end(const char *name);

/* Python stacks up to this number are known, UINT32_MAX: nobody asks. */
extern uint32_t vt_torch_observing_known __attribute__((visibility("hidden"))); /* atomic */
void vt_torch_observing_note_new(const struct vt_event_record *event);

/* A block was recorded.  Costs a comparison where nothing is new. */
static inline void vt_torch_observing_note_block(const struct vt_event_record *event)
{
	if (event->python_stack > __atomic_load_n(&vt_torch_observing_known, __ATOMIC_RELAXED))
		vt_torch_observing_note_new(event);
}

#endif
