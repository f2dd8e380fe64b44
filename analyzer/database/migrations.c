/* SPDX-License-Identifier: MIT */
#include "analyzer/database/migrations.h"

#include <stddef.h>

#include "analyzer/database/allocation_base.h"

/* Version 2: what the probe saw, where forward calls stood, what NVML said. */
#define TABLES_2(temporary)                                                                        \
	"CREATE " temporary " TABLE probe (id INTEGER PRIMARY KEY, event, time_ns, duration_ns,"   \
	" thread, reason, tensors);"                                                               \
	"CREATE " temporary " TABLE tensor (id INTEGER PRIMARY KEY, event, probe, device, address,"\
	" size_bytes, role, flags, name, holder, dtype, shape);"                                   \
	"CREATE " temporary " TABLE torch_module (id INTEGER PRIMARY KEY, event, probe, address,"  \
	" class, name, holder, root_address);"                                                     \
	"CREATE " temporary " TABLE device_sample (time_ns, device, total_used_bytes,"             \
	" process_used_bytes);"                                                                    \
	"CREATE " temporary " TABLE tensor_role (id INTEGER PRIMARY KEY, name);"

#define ADD_2                                                                                      \
	"ALTER TABLE allocation ADD COLUMN forward_python_stack INTEGER;"                          \
	"ALTER TABLE allocation ADD COLUMN freed_forward_python_stack INTEGER;"

/* Version 3: what allocations go with; what PyTorch's allocator was asked for, on which stream. */
#define TABLES_3(temporary)                                                                        \
	"CREATE " temporary " TABLE allocation_parent (allocation INTEGER PRIMARY KEY, parent);"

#define ADD_3                                                                                      \
	"ALTER TABLE allocation ADD COLUMN requested_bytes INTEGER;"                               \
	"ALTER TABLE out_of_memory ADD COLUMN stream INTEGER;"

/* Version 4: whether autograd was enabled. */
#define ADD_4                                                                                      \
	"ALTER TABLE allocation ADD COLUMN grad INTEGER;"                                          \
	"ALTER TABLE allocation ADD COLUMN freed_grad INTEGER;"                                    \
	"ALTER TABLE out_of_memory ADD COLUMN grad INTEGER;"

/* Version 5: what operators read and wrote. */
#define TABLES_5(temporary)                                                                        \
	"CREATE " temporary " TABLE operator (id INTEGER PRIMARY KEY, event, end_event, thread,"   \
	" parent, name, sequence, node_class, node_sequence, python_stack,"                        \
	" forward_python_stack);"                                                                  \
	"CREATE " temporary " TABLE operator_tensor (operator, is_output, position, element,"      \
	" allocation);"

/* Version 6: code that the program made itself. */
#define TABLES_6(temporary)                                                                        \
	"CREATE " temporary " TABLE python_source (file, kind, part, text,"                        \
	" PRIMARY KEY (file, kind, part)) WITHOUT ROWID;"

/* Version 7: where the forward of a failed request's node stood. */
#define ADD_7 "ALTER TABLE out_of_memory ADD COLUMN forward_python_stack INTEGER;"

/* Version 8: what is known of a past that was folded. */
#define TABLES_8(temporary)                                                                        \
	"CREATE " temporary " TABLE period (id INTEGER PRIMARY KEY, start_time_ns, end_time_ns,"   \
	" first_event, last_event, allocations, frees, failed_requests, marks, lost_events);"      \
	"CREATE " temporary " TABLE period_peak (period, device, event, used_bytes,"               \
	" allocated_bytes, max_allocated_event, max_allocated_bytes,"                              \
	" PRIMARY KEY (period, device)) WITHOUT ROWID;"

/* Version 9: thresholds that were reached. */
#define TABLES_9(temporary)                                                                        \
	"CREATE " temporary " TABLE warning (id INTEGER PRIMARY KEY, time_ns, event, device,"      \
	" threshold, is_reached, bytes, threshold_bytes, what);"

/* Version 10: who made or freed memory is kept once. */
#define MADE_10                                                                                    \
	"kind, device, stream, function, thread, native_stack, python_stack, scope, node_class,"   \
	" forward_python_stack, grad"
#define FREED_10                                                                                   \
	"freed_thread, freed_function, freed_native_stack, freed_python_stack, freed_scope,"       \
	" freed_node_class, freed_forward_python_stack, freed_grad"
#define ROW_10(made, freed)                                                                        \
	"SELECT id, " made " AS made, address, size_bytes, requested_bytes, time_ns,"              \
	" node_sequence, forward_sequence, allocated_bytes, reserved_bytes,"                       \
	" CASE WHEN freed_event IS NOT NULL THEN " freed " END AS freed,"                          \
	" freed_event - id AS lived_events, freed_time_ns - time_ns AS lived_ns,"                  \
	" freed_node_sequence FROM allocation"
/* Under a temporary name, until the next schema takes it over. */
#define SPLIT_10                                                                                   \
	"CREATE TABLE allocation_made (id INTEGER PRIMARY KEY, " MADE_10 ");"                      \
	"CREATE TABLE allocation_freed (id INTEGER PRIMARY KEY, thread, function, native_stack,"   \
	" python_stack, scope, node_class, forward_python_stack, grad);"                           \
	"CREATE TABLE allocation_row_10 (id INTEGER PRIMARY KEY, made, address, size_bytes,"       \
	" requested_bytes, time_ns, node_sequence, forward_sequence, allocated_bytes,"             \
	" reserved_bytes, freed, lived_events, lived_ns, freed_node_sequence);"                    \
	"INSERT INTO allocation_made SELECT min(id), " MADE_10 " FROM allocation GROUP BY "        \
	MADE_10 ";"                                                                                \
	"INSERT INTO allocation_freed SELECT min(id), " FREED_10 " FROM allocation"                \
	" WHERE freed_event IS NOT NULL GROUP BY " FREED_10 ";"                                    \
	"INSERT INTO allocation_row_10 "                                                           \
	ROW_10("min(id) OVER (PARTITION BY " MADE_10 ")",                                          \
	       "min(id) OVER (PARTITION BY freed_event IS NULL, " FREED_10 ")")                    \
	" ORDER BY id;"                                                                            \
	"DROP TABLE allocation;"

/* For a reader each allocation has all of it to itself. */
#define VIEWS_10                                                                                   \
	"CREATE TEMP VIEW allocation_made AS SELECT id, " MADE_10 " FROM allocation;"              \
	"CREATE TEMP VIEW allocation_freed (id, thread, function, native_stack, python_stack,"     \
	" scope, node_class, forward_python_stack, grad) AS SELECT id, " FREED_10                  \
	" FROM allocation WHERE freed_event IS NOT NULL;"                                          \
	"CREATE TEMP VIEW allocation_row_10 AS " ROW_10("id", "id") ";"

/* Version 11: who made and freed is one number, and differences are in place of numbers. */
/* Bytes, evaluated twice. */
#define PACK(bytes)                                                                                \
	"CASE WHEN (" bytes ") & 511 THEN (" bytes ") << 1 | 1 ELSE (" bytes ") >> 8 END"
#define ROW_11(callers, of_base)                                                                   \
	"SELECT r.id, " callers " AS callers,"                                                     \
	" " PACK("r.address" of_base("address")) " AS address_packed,"                             \
	" " PACK("size_bytes") " AS size_packed, size_bytes - requested_bytes AS rounding_bytes,"  \
	" r.time_ns" of_base("time_ns") " AS time_offset_ns,"                                      \
	" node_sequence" of_base("sequence") " AS node_sequence_offset,"                           \
	" forward_sequence" of_base("sequence") " AS forward_sequence_offset,"                     \
	" CASE WHEN r.allocated_bytes THEN "                                                       \
	PACK("r.allocated_bytes" of_base("allocated_bytes")) " END AS allocated_packed,"           \
	" lived_events, lived_ns,"                                                                 \
	" freed_node_sequence" of_base("sequence") " AS freed_node_sequence_offset"
#define MINUS_BASE(column) " - b." column
#define OF_NO_BASE(column)
#define SPLIT_11                                                                                   \
	"CREATE TABLE allocation_callers (id INTEGER PRIMARY KEY, made INTEGER, freed INTEGER);"   \
	"CREATE TABLE allocation_base (id INTEGER PRIMARY KEY, time_ns, address, sequence,"        \
	" allocated_bytes);"                                                                       \
	"CREATE TABLE allocation_row (id INTEGER PRIMARY KEY, callers, address_packed,"            \
	" size_packed, rounding_bytes, time_offset_ns, node_sequence_offset,"                      \
	" forward_sequence_offset, allocated_packed, lived_events, lived_ns,"                      \
	" freed_node_sequence_offset);"                                                            \
	"CREATE TABLE allocator_reserved (device, event, reserved_bytes,"                          \
	" PRIMARY KEY (device, event)) WITHOUT ROWID;"                                             \
	"INSERT INTO allocation_callers SELECT min(id), made, freed FROM allocation_row_10"        \
	" GROUP BY made, freed;"                                                                   \
	"CREATE INDEX allocation_callers_11 ON allocation_callers (made, freed);"                  \
	"INSERT INTO allocation_base SELECT " VT_ALLOCATION_BASE_ID("id") ", time_ns, address,"    \
	" ifnull(forward_sequence, ifnull(node_sequence, 0)), allocated_bytes FROM"                \
	" (SELECT *, lag(" VT_ALLOCATION_BASE_ID("id") ") OVER (ORDER BY id) AS before"            \
	" FROM allocation_row_10) WHERE before IS NOT " VT_ALLOCATION_BASE_ID("id") ";"            \
	"INSERT INTO allocator_reserved SELECT device, id, reserved_bytes FROM (SELECT m.device,"  \
	" r.id, reserved_bytes, lag(reserved_bytes, 1, 0) OVER (PARTITION BY m.device"             \
	" ORDER BY r.id) AS known FROM allocation_row_10 r JOIN allocation_made m ON m.id = made"  \
	" WHERE m.kind = 1) WHERE known <> reserved_bytes;"                                        \
	"INSERT INTO allocation_row "                                                              \
	ROW_11("c.id", MINUS_BASE)                                                                 \
	" FROM allocation_row_10 r CROSS JOIN allocation_base b"                                   \
	" ON b.id = " VT_ALLOCATION_BASE_ID("r.id")                                                \
	" CROSS JOIN allocation_callers c ON c.made = r.made AND c.freed IS r.freed"               \
	" ORDER BY r.id;"                                                                          \
	"DROP INDEX allocation_callers_11;"                                                        \
	"DROP TABLE allocation_row_10;"

/* Views of others that name what is not there are theirs. */
#define RENAME_10                                                                                  \
	"PRAGMA legacy_alter_table=ON;"                                                            \
	"ALTER TABLE allocation_row RENAME TO allocation_row_10;"                                  \
	"PRAGMA legacy_alter_table=OFF;"                                                           \
	"DROP VIEW allocation;"

/*
 * `rows`: what has the rows of schema 10; `callers`: by what columns they tell one pair of callers
 * from another.  There is no base: offsets are from 0.
 */
#define VIEWS_11(rows, callers)                                                                    \
	"CREATE TEMP VIEW allocation_callers AS SELECT DISTINCT " callers                          \
	" AS id, made, freed"                                                                      \
	" FROM " rows                                                                              \
	" r;"                                                                                      \
	"CREATE TEMP VIEW allocation_base AS SELECT id, time_ns, address, 0 AS sequence,"          \
	" allocated_bytes FROM " rows                                                              \
	" WHERE 0;"                                                                                \
	"CREATE TEMP VIEW allocator_reserved AS SELECT m.device, r.id AS event, reserved_bytes"    \
	" FROM " rows                                                                              \
	" r JOIN allocation_made m ON m.id = made WHERE m.kind = 1;"                               \
	"CREATE TEMP VIEW allocation_row AS " ROW_11(callers, OF_NO_BASE) " FROM " rows " r;"

const char vt_migrations_view_10[] =
	"CREATE VIEW allocation AS\n"
	"\tSELECT r.id, m.kind, m.device, r.address, r.size_bytes, m.stream, m.function, "
	"m.thread, r.time_ns, m.native_stack, m.python_stack,\n"
	"\t\tm.scope, m.node_class, r.node_sequence, r.forward_sequence, "
	"r.allocated_bytes, r.reserved_bytes,\n"
	"\t\tr.id + r.lived_events AS freed_event, r.time_ns + r.lived_ns AS "
	"freed_time_ns, f.thread AS freed_thread,\n"
	"\t\tf.function AS freed_function, f.native_stack AS freed_native_stack, "
	"f.python_stack AS freed_python_stack,\n"
	"\t\tf.scope AS freed_scope, f.node_class AS freed_node_class, "
	"r.freed_node_sequence, m.forward_python_stack,\n"
	"\t\tf.forward_python_stack AS freed_forward_python_stack, r.requested_bytes, "
	"m.grad, f.grad AS freed_grad\n"
	"\tFROM allocation_row r LEFT JOIN allocation_made m ON m.id = r.made LEFT JOIN "
	"allocation_freed f ON f.id = r.freed";

#define LAST        SPLIT_11 "PRAGMA user_version=11"
#define LAST_9      SPLIT_10 LAST
#define SET_VERSION TABLES_9("") LAST_9
#define IN_MEMORY   "PRAGMA temp_store=MEMORY;"
#define LAST_VIEWS  IN_MEMORY VIEWS_10 VIEWS_11("allocation_row_10", "r.id")
#define TO_MEMORY   LAST_VIEWS TABLES_9("TEMP")

/* A temporary view hides the table of its name. */
#define VIEW(table, columns)                                                                       \
	"CREATE TEMP VIEW " table " AS SELECT *, " columns " FROM main." table ";"
#define VIEW_OUT_OF_MEMORY_6 VIEW("out_of_memory", "NULL AS forward_python_stack")
#define VIEW_OUT_OF_MEMORY_3                                                                       \
	VIEW("out_of_memory", "NULL AS stream, NULL AS grad, NULL AS forward_python_stack")
#define VIEW_ALLOCATION_4    "NULL AS grad, NULL AS freed_grad"

static const struct {
	const char *read;
	const char *write;
} older[] = {
	[1] = { TO_MEMORY TABLES_8("TEMP") TABLES_2("TEMP") TABLES_3("TEMP") TABLES_5("TEMP")
			TABLES_6("TEMP") VIEW("allocation",
					      "NULL AS forward_python_stack,"
					      " NULL AS freed_forward_python_stack, NULL AS "
					      "requested_bytes, " VIEW_ALLOCATION_4)
				VIEW_OUT_OF_MEMORY_3,
		TABLES_2("") TABLES_3("") TABLES_5("") TABLES_6("")
			ADD_2 ADD_3 ADD_4 ADD_7 TABLES_8("") SET_VERSION },
	[2] = { TO_MEMORY TABLES_8("TEMP") TABLES_3("TEMP") TABLES_5("TEMP") TABLES_6("TEMP")
			VIEW("allocation", "NULL AS requested_bytes, " VIEW_ALLOCATION_4)
				VIEW_OUT_OF_MEMORY_3,
		TABLES_3("") TABLES_5("") TABLES_6("") ADD_3 ADD_4 ADD_7 TABLES_8("") SET_VERSION },
	[3] = { TO_MEMORY TABLES_8("TEMP") TABLES_5("TEMP") TABLES_6("TEMP")
			VIEW("allocation", VIEW_ALLOCATION_4)
				VIEW("out_of_memory", "NULL AS grad, NULL AS forward_python_stack"),
		TABLES_5("") TABLES_6("") ADD_4 ADD_7 TABLES_8("") SET_VERSION },
	[4] = { TO_MEMORY TABLES_8("TEMP") TABLES_5("TEMP") TABLES_6("TEMP") VIEW_OUT_OF_MEMORY_6,
		TABLES_5("") TABLES_6("") ADD_7 TABLES_8("") SET_VERSION },
	[5] = { TO_MEMORY TABLES_8("TEMP") TABLES_6("TEMP") VIEW_OUT_OF_MEMORY_6,
		TABLES_6("") ADD_7 TABLES_8("") SET_VERSION },
	[6] = { TO_MEMORY TABLES_8("TEMP") VIEW_OUT_OF_MEMORY_6, ADD_7 TABLES_8("") SET_VERSION },
	[7] = { TO_MEMORY TABLES_8("TEMP"), TABLES_8("") SET_VERSION },
	[8] = { TO_MEMORY, SET_VERSION },
	[9] = { LAST_VIEWS, LAST_9 },
	[10] = { IN_MEMORY VIEWS_11("main.allocation_row", "(made << 32 | ifnull(freed, 0))"),
		 RENAME_10 LAST },
};

#define NR_OLDER (int)(sizeof(older) / sizeof(older[0]))

const char *vt_migrations_sql(int version, int is_reader)
{
	/* Before 1 there was none; a file of ours without a version is read as the first. */
	int known = version < 1 ? 1 : version;

	if (known >= NR_OLDER)
		return NULL;
	return is_reader ? older[known].read : older[known].write;
}
