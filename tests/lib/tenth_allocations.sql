-- The tables of schema 10 with what the tables of later schemas have, in their place.
CREATE TEMP TABLE kept AS SELECT * FROM allocation;
CREATE TEMP TABLE kept_callers AS SELECT r.id, c.made, c.freed FROM allocation_row r JOIN allocation_callers c ON c.id = r.callers;
DROP VIEW allocation;
DROP TABLE allocation_row;
DROP TABLE allocation_callers;
DROP TABLE allocation_base;
DROP TABLE allocator_reserved;
CREATE TABLE allocation_row (
	id                  INTEGER PRIMARY KEY,  -- event number of the allocation
	made                INTEGER NOT NULL,     -- allocation_made.id
	address             INTEGER NOT NULL,     -- pointer; vmm: the handle
	size_bytes          INTEGER NOT NULL,
	requested_bytes     INTEGER,              -- blocks: the request before rounding; NULL: not known or below 512
	time_ns             INTEGER NOT NULL,
	node_sequence       INTEGER,
	forward_sequence    INTEGER,              -- last sequence number given to a new node on that thread
	allocated_bytes     INTEGER NOT NULL,     -- the framework allocator's totals after the event (blocks only)
	reserved_bytes      INTEGER NOT NULL,
	freed               INTEGER,              -- allocation_freed.id; NULL: never freed
	lived_events        INTEGER,              -- from its event to that of its free; vmm: that dropped the last reference or mapping
	lived_ns            INTEGER,
	freed_node_sequence INTEGER
);
INSERT INTO allocation_row SELECT id, made, address, size_bytes, requested_bytes, time_ns, node_sequence, forward_sequence,
	allocated_bytes, reserved_bytes, freed, freed_event - id, freed_time_ns - time_ns, freed_node_sequence
	FROM temp.kept JOIN temp.kept_callers USING (id) ORDER BY id;
DROP TABLE temp.kept;
DROP TABLE temp.kept_callers;
CREATE VIEW allocation AS
	SELECT r.id, m.kind, m.device, r.address, r.size_bytes, m.stream, m.function, m.thread, r.time_ns, m.native_stack, m.python_stack,
		m.scope, m.node_class, r.node_sequence, r.forward_sequence, r.allocated_bytes, r.reserved_bytes,
		r.id + r.lived_events AS freed_event, r.time_ns + r.lived_ns AS freed_time_ns, f.thread AS freed_thread,
		f.function AS freed_function, f.native_stack AS freed_native_stack, f.python_stack AS freed_python_stack,
		f.scope AS freed_scope, f.node_class AS freed_node_class, r.freed_node_sequence, m.forward_python_stack,
		f.forward_python_stack AS freed_forward_python_stack, r.requested_bytes, m.grad, f.grad AS freed_grad
	FROM allocation_row r LEFT JOIN allocation_made m ON m.id = r.made LEFT JOIN allocation_freed f ON f.id = r.freed;
PRAGMA user_version = 10;
