# SPDX-License-Identifier: MIT
# Writes HEADER with the commit of SOURCE as VTRACE_COMMIT, " (1a2b3c4)"; "" outside of a
# repository.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix --short=10 HEAD
	OUTPUT_VARIABLE lines ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
set(commit "")
# The first line is empty where SOURCE is the root of the repository, and not a folder in another's.
if(NOT failed AND lines MATCHES "^\n([0-9a-f]+)$")
	set(commit " (${CMAKE_MATCH_1})")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define VTRACE_COMMIT \"${commit}\"\n" @ONLY)
