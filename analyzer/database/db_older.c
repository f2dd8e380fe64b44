/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_older.h"

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

/* Version 3: what allocations go with. */
#define TABLES_3(temporary)                                                                        \
	"CREATE " temporary " TABLE allocation_parent (allocation INTEGER PRIMARY KEY, parent);"

#define MEMORY "PRAGMA temp_store=MEMORY;"

/* A temporary view hides the table of its name. */
static const char read_1[] =
	MEMORY TABLES_2("TEMP") TABLES_3("TEMP")
	"CREATE TEMP VIEW allocation AS SELECT *, NULL AS forward_python_stack,"
	" NULL AS freed_forward_python_stack FROM main.allocation";

static const char read_2[] = MEMORY TABLES_3("TEMP");

static const char write_1[] =
	"BEGIN IMMEDIATE;" TABLES_2("") TABLES_3("")
	"ALTER TABLE allocation ADD COLUMN forward_python_stack INTEGER;"
	"ALTER TABLE allocation ADD COLUMN freed_forward_python_stack INTEGER;"
	"PRAGMA user_version=3; COMMIT";

static const char write_2[] =
	"BEGIN IMMEDIATE;" TABLES_3("") "PRAGMA user_version=3; COMMIT";

const char *vt_db_older_sql(int version, int is_reader)
{
	if (version >= 3)
		return NULL;
	if (version == 2)
		return is_reader ? read_2 : write_2;
	return is_reader ? read_1 : write_1;
}
