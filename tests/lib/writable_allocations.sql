-- The view `allocation` takes rows, for the connection that reads this: each gets callers of its own.
CREATE TEMP TRIGGER write_allocation INSTEAD OF INSERT ON allocation BEGIN
	INSERT INTO allocation_made VALUES ((SELECT ifnull(max(id), 0) + 1 FROM allocation_made), NEW.kind, NEW.device, NEW.stream,
		NEW.function, NEW.thread, NEW.native_stack, NEW.python_stack, NEW.scope, NEW.node_class, NEW.forward_python_stack, NEW.grad);
	INSERT INTO allocation_freed SELECT (SELECT ifnull(max(id), 0) + 1 FROM allocation_freed), NEW.freed_thread,
		NEW.freed_function, NEW.freed_native_stack, NEW.freed_python_stack, NEW.freed_scope, NEW.freed_node_class,
		NEW.freed_forward_python_stack, NEW.freed_grad WHERE NEW.freed_event IS NOT NULL;
	INSERT INTO allocation_callers VALUES ((SELECT ifnull(max(id), 0) + 1 FROM allocation_callers), (SELECT max(id) FROM allocation_made),
		CASE WHEN NEW.freed_event IS NOT NULL THEN (SELECT max(id) FROM allocation_freed) END);
	INSERT INTO allocation_base SELECT NEW.id >> 8, NEW.time_ns, NEW.address, ifnull(NEW.forward_sequence, 0), NEW.allocated_bytes
		WHERE NOT EXISTS (SELECT 1 FROM allocation_base WHERE id = NEW.id >> 8);
	DELETE FROM allocator_reserved WHERE device = NEW.device AND event = NEW.id;
	INSERT INTO allocator_reserved SELECT NEW.device, NEW.id, NEW.reserved_bytes WHERE NEW.kind = 1;
	INSERT INTO allocation_row SELECT NEW.id, (SELECT max(id) FROM allocation_callers),
		CASE WHEN (NEW.address - b.address) & 511 THEN (NEW.address - b.address) << 1 | 1 ELSE (NEW.address - b.address) >> 8 END,
		CASE WHEN (NEW.size_bytes) & 511 THEN (NEW.size_bytes) << 1 | 1 ELSE (NEW.size_bytes) >> 8 END,
		NEW.size_bytes - NEW.requested_bytes, NEW.time_ns - b.time_ns, NEW.node_sequence - b.sequence,
		NEW.forward_sequence - b.sequence, CASE WHEN NEW.allocated_bytes THEN
		CASE WHEN (NEW.allocated_bytes - b.allocated_bytes) & 511 THEN (NEW.allocated_bytes - b.allocated_bytes) << 1 | 1 ELSE (NEW.allocated_bytes - b.allocated_bytes) >> 8 END END,
		NEW.freed_event - NEW.id, NEW.freed_time_ns - NEW.time_ns, NEW.freed_node_sequence - b.sequence
		FROM allocation_base b WHERE b.id = NEW.id >> 8;
END;
CREATE TEMP TRIGGER delete_allocation INSTEAD OF DELETE ON allocation BEGIN
	DELETE FROM allocation_row WHERE id = OLD.id;
END;
CREATE TEMP TRIGGER change_allocation INSTEAD OF UPDATE ON allocation BEGIN
	DELETE FROM allocation WHERE id = OLD.id;
	INSERT INTO allocation VALUES (NEW.id, NEW.kind, NEW.device, NEW.address, NEW.size_bytes, NEW.stream, NEW.function, NEW.thread,
		NEW.time_ns, NEW.native_stack, NEW.python_stack, NEW.scope, NEW.node_class, NEW.node_sequence, NEW.forward_sequence,
		NEW.allocated_bytes, NEW.reserved_bytes, NEW.freed_event, NEW.freed_time_ns, NEW.freed_thread, NEW.freed_function,
		NEW.freed_native_stack, NEW.freed_python_stack, NEW.freed_scope, NEW.freed_node_class, NEW.freed_node_sequence,
		NEW.forward_python_stack, NEW.freed_forward_python_stack, NEW.requested_bytes, NEW.grad, NEW.freed_grad);
END;
