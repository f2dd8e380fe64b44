/* SPDX-License-Identifier: MIT */
#include "analyzer/database/migrations.h"

#include <stddef.h>

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
#define SPLIT_10                                                                                   \
	"CREATE TABLE allocation_made (id INTEGER PRIMARY KEY, " MADE_10 ");"                      \
	"CREATE TABLE allocation_freed (id INTEGER PRIMARY KEY, thread, function, native_stack,"   \
	" python_stack, scope, node_class, forward_python_stack, grad);"                           \
	"CREATE TABLE allocation_row (id INTEGER PRIMARY KEY, made, address, size_bytes,"          \
	" requested_bytes, time_ns, node_sequence, forward_sequence, allocated_bytes,"             \
	" reserved_bytes, freed, lived_events, lived_ns, freed_node_sequence);"                    \
	"INSERT INTO allocation_made SELECT min(id), " MADE_10 " FROM allocation GROUP BY "        \
	MADE_10 ";"                                                                                \
	"INSERT INTO allocation_freed SELECT min(id), " FREED_10 " FROM allocation"                \
	" WHERE freed_event IS NOT NULL GROUP BY " FREED_10 ";"                                    \
	"INSERT INTO allocation_row "                                                              \
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
	"CREATE TEMP VIEW allocation_row AS " ROW_10("id", "id") ";"

#define LAST        SPLIT_10 "PRAGMA user_version=10"
#define SET_VERSION TABLES_9("") LAST
#define LAST_VIEWS  "PRAGMA temp_store=MEMORY;" VIEWS_10
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
	[1] = { TO_MEMORY TABLES_8("TEMP") TABLES_2("TEMP") TABLES_3("TEMP")
		TABLES_5("TEMP") TABLES_6("TEMP")
		VIEW("allocation", "NULL AS forward_python_stack,"
		     " NULL AS freed_forward_python_stack, NULL AS requested_bytes, "
		     VIEW_ALLOCATION_4)
		VIEW_OUT_OF_MEMORY_3,
		TABLES_2("") TABLES_3("") TABLES_5("") TABLES_6("") ADD_2 ADD_3 ADD_4 ADD_7
		TABLES_8("") SET_VERSION },
	[2] = { TO_MEMORY TABLES_8("TEMP") TABLES_3("TEMP") TABLES_5("TEMP")
		TABLES_6("TEMP")
		VIEW("allocation", "NULL AS requested_bytes, " VIEW_ALLOCATION_4)
		VIEW_OUT_OF_MEMORY_3,
		TABLES_3("") TABLES_5("") TABLES_6("") ADD_3 ADD_4 ADD_7 TABLES_8("") SET_VERSION },
	[3] = { TO_MEMORY TABLES_8("TEMP") TABLES_5("TEMP") TABLES_6("TEMP")
		VIEW("allocation", VIEW_ALLOCATION_4)
		VIEW("out_of_memory", "NULL AS grad, NULL AS forward_python_stack"),
		TABLES_5("") TABLES_6("") ADD_4 ADD_7 TABLES_8("") SET_VERSION },
	[4] = { TO_MEMORY TABLES_8("TEMP") TABLES_5("TEMP") TABLES_6("TEMP")
		VIEW_OUT_OF_MEMORY_6,
		TABLES_5("") TABLES_6("") ADD_7 TABLES_8("") SET_VERSION },
	[5] = { TO_MEMORY TABLES_8("TEMP") TABLES_6("TEMP") VIEW_OUT_OF_MEMORY_6,
		TABLES_6("") ADD_7 TABLES_8("") SET_VERSION },
	[6] = { TO_MEMORY TABLES_8("TEMP") VIEW_OUT_OF_MEMORY_6,
		ADD_7 TABLES_8("") SET_VERSION },
	[7] = { TO_MEMORY TABLES_8("TEMP"), TABLES_8("") SET_VERSION },
	[8] = { TO_MEMORY, SET_VERSION },
	[9] = { LAST_VIEWS, LAST },
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
