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

# vtrace_embed_files(VARIABLE SYMBOL HEADER FOLDER NAME...): the files of FOLDER with these names in
# one table of struct vt_embedded_file, vt_embedded_SYMBOL; last comes one without a name.
function(vtrace_embed_files variable symbol header folder)
	foreach(name ${ARGN})
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
		file(READ ${folder}/${name} bytes HEX)
		string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
		string(MAKE_C_IDENTIFIER ${name} identifier)
		string(APPEND texts "static const char ${identifier}[] = {${bytes}0};\n")
		string(APPEND rows "\t{ \"${name}\", ${identifier} },\n")
	endforeach()
	set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.c)
	file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "#include \"@header@\"
@texts@const struct vt_embedded_file vt_embedded_@symbol@[] = {
@rows@	{ 0, 0 }
};\n")
	set(${variable} ${source} PARENT_SCOPE)
endfunction()
