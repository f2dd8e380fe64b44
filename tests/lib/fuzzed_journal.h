/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_FUZZED_JOURNAL_H
#define VT_TESTS_FUZZED_JOURNAL_H

/*
 * The sample journal, what a probe of the program writes, and the texts of code that the program
 * made itself: all that an importer and a reader of databases have to parse.
 */

#include "tests/lib/journal_builder.h"

/* Initialises and fills a builder. */
void fuzzed_journal(struct builder *b);

#endif
