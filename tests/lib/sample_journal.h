/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_SAMPLE_JOURNAL_H
#define VT_TESTS_SAMPLE_JOURNAL_H

/* One journal with every kind of record and every hard case of pairing, some 120 records. */

#include "tests/lib/journal_builder.h"

/*
 * Fills an initialised builder.  Stacks come before what they name, frees fail, handles and
 * addresses come again.
 */
void sample_journal(struct builder *b);

#endif
