/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EMBEDDED_H
#define VT_ANALYZER_EMBEDDED_H

/* Text files that CMake turns into arrays (vtrace_embed), each with a NUL at its end. */

extern const char vt_embedded_schema[]; /* common/schema.sql */
extern const char vt_embedded_rules[];  /* analyzer/attribution/rules/rules.ini */
extern const char vt_embedded_families[]; /* analyzer/planner/families.ini */
/* analyzer/planner/terms/, in the order in which a plan has them; then one without a name. */
extern const struct vt_embedded_file {
	const char *name, *text;
} vt_embedded_terms[];
extern const char vt_embedded_presets[];  /* analyzer/planner/presets.json */
extern const char vt_embedded_model_run[]; /* analyzer/planner/model_run.py */
extern const char vt_embedded_profiles[]; /* simulator/profiles.ini */

/* analyzer/page/ as one script and one style, with their hashes for a content security policy; */
/* empty where the build had no bundler. */
extern const char vt_embedded_page_script[];
extern const char vt_embedded_page_script_hash[];
extern const char vt_embedded_page_style[];
extern const char vt_embedded_page_style_hash[];

#endif
