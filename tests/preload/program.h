/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PRELOAD_PROGRAM_H
#define TESTS_PRELOAD_PROGRAM_H

/* The scenarios of program.c that need a driver. */
#define PROGRAM_SCENARIOS(X)                                                                       \
	X(allocate_and_free)                                                                       \
	X(look_ups_yield_hooks)                                                                    \
	X(look_up_looks_itself_up)                                                                 \
	X(refusals)                                                                                \
	X(errno_is_the_driver_s)                                                                   \
	X(shapes)                                                                                  \
	X(arrays)                                                                                  \
	X(contexts)                                                                                \
	X(several)                                                                                 \
	X(driver_callers_get_the_real_thing)                                                       \
	X(second_library_is_asked)                                                                 \
	X(chained_library_is_asked)                                                                \
	X(chained_library_ends)                                                                    \
	X(chaining_library_is_asked)                                                               \
	X(hooks_are_not_wrapped_again)                                                             \
	X(deeply_bound_libraries_are_seen)                                                         \
	X(opener_s_own_path_is_searched)                                                           \
	X(driver_stays_loaded)                                                                     \
	X(hook_is_left_by_a_jump)                                                                  \
	X(threads)                                                                                 \
	X(descriptors_are_not_ours)                                                                \
	X(children)                                                                                \
	X(next_program)                                                                            \
	X(no_child_of_ours)                                                                        \
	X(marks)                                                                                   \
	X(unseen_end)                                                                              \
	X(status_three)                                                                            \
	X(other_stderr)                                                                            \
	X(nobody_reads_stderr)                                                                     \
	X(address_space_is_left)                                                                   \
	X(address_space_is_taken_as_needed)                                                        \
	X(address_space_is_short)

#define PROGRAM_THREADS 4
#define PROGRAM_PER_THREAD 10000

#endif
