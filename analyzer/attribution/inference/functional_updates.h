/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FUNCTIONAL_UPDATES_H
#define VT_ANALYZER_FUNCTIONAL_UPDATES_H

/*
 * Weights and optimizer state of programs that keep them in variables of their own, by the
 * gradients that were made:
 *
 *  U1  What was there before the first gradient of exactly its size, and lives through it, can be
 *      what that gradient is of, or what is kept for the update.
 *  U2  As many as there are gradients of that size are weights: those that the probe saw to require
 *      a gradient, then the first that were not made as zeros, then any.
 *  U3  Those behind them that were made as zeros are state of the optimizer, in a program in which
 *      no optimizer of PyTorch takes a step: such a one keeps its state itself.
 *  U4  So are zeros that are made behind the first gradients, when they are needed first, and kept
 *      through those of two more steps.
 *  U5  A program that makes new ones in each step has the same in the same variable: what a
 *      variable of that name held, it holds; and so does what that line made of that size.
 *  U6  Where no variable is known: what the program made last of that size, behind the gradients,
 *      takes the place of a weight or state that is let go.
 */

#include "analyzer/attribution/inference/facts.h"

/* Fills facts->functional_updates. */
void vt_functional_updates_find(struct vt_facts *facts);

#endif
