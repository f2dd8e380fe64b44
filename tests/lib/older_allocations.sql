-- The table `allocation` of schema 9 with what the tables of later schemas have, in their place.
CREATE TEMP TABLE kept AS SELECT * FROM allocation;
DROP VIEW allocation;
DROP TABLE allocation_row;
DROP TABLE allocation_made;
DROP TABLE allocation_freed;
DROP TABLE allocation_callers;
DROP TABLE allocation_base;
DROP TABLE allocator_reserved;
CREATE TABLE allocation (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, device INTEGER NOT NULL, address INTEGER NOT NULL,
	size_bytes INTEGER NOT NULL, stream INTEGER NOT NULL, function INTEGER NOT NULL, thread INTEGER NOT NULL,
	time_ns INTEGER NOT NULL, native_stack INTEGER, python_stack INTEGER, scope INTEGER, node_class INTEGER,
	node_sequence INTEGER, forward_sequence INTEGER, allocated_bytes INTEGER NOT NULL, reserved_bytes INTEGER NOT NULL,
	freed_event INTEGER, freed_time_ns INTEGER, freed_thread INTEGER, freed_function INTEGER, freed_native_stack INTEGER,
	freed_python_stack INTEGER, freed_scope INTEGER, freed_node_class INTEGER, freed_node_sequence INTEGER,
	forward_python_stack INTEGER, freed_forward_python_stack INTEGER, requested_bytes INTEGER, grad INTEGER,
	freed_grad INTEGER);
INSERT INTO allocation SELECT * FROM temp.kept;
DROP TABLE temp.kept;
PRAGMA user_version = 9;
