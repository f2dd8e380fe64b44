# SPDX-License-Identifier: MIT
# Defines the target vt_libunwind: our static, position-independent libunwind.
#
# scripts/build passes VTRACE_LIBUNWIND_PREFIX; a plain cmake call asks scripts/libunwind, which
# builds it if need be. Whoever links the target into a shared library hides its symbols with
# --exclude-libs.
include_guard(GLOBAL)

set(VTRACE_LIBUNWIND_PREFIX "" CACHE PATH
	"Folder with lib/libunwind.a; empty: ask scripts/libunwind")
set(vt_libunwind_prefix "${VTRACE_LIBUNWIND_PREFIX}")
if(NOT vt_libunwind_prefix)
	execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/libunwind
		OUTPUT_VARIABLE vt_libunwind_prefix OUTPUT_STRIP_TRAILING_WHITESPACE
		COMMAND_ERROR_IS_FATAL ANY)
endif()

add_library(vt_libunwind STATIC IMPORTED GLOBAL)
set_target_properties(vt_libunwind PROPERTIES
	IMPORTED_LOCATION ${vt_libunwind_prefix}/lib/libunwind.a
	INTERFACE_INCLUDE_DIRECTORIES ${vt_libunwind_prefix}/include)
