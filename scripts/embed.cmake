# SPDX-License-Identifier: MIT
# vtrace_embed(VARIABLE SYMBOL FILE HEADER): a C source that holds FILE, with a NUL behind it, as
# vt_embedded_SYMBOL, which HEADER declares; its path goes to VARIABLE.
function(vtrace_embed variable symbol file header)
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
	file(READ ${file} bytes HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
	set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.c)
	file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "#include \"@header@\"
const char vt_embedded_@symbol@[] = {@bytes@0};\n")
	set(${variable} ${source} PARENT_SCOPE)
endfunction()
