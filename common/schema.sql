-- The vtrace database.  Public: documented here and in FORMAT.md, versioned by user_version, only ever added to.
-- Facts only; what a byte is called is decided by the reader.  Bytes, nanoseconds (CLOCK_MONOTONIC), event numbers from 1.
-- INTEGER columns named *_class, class, scope, name, holder, dtype, shape and reason hold string.id.

-- One row per fact about the run.  From the recorder: command (JSON array), executable, cwd, hostname, recorder, python,
-- operators (why they are not observed, if so),
-- env:NAME for each environment variable kept, uuid:N of device N; where a launcher started it (common/launchers.h) launcher, rank,
-- world_size, local_rank and job (equal for processes of one start).  From the importer: pid, start_time_ns, start_realtime_ns, duration_ns, torch,
-- ended ("running", "exit N", "signal N", "killed" = no exit handler ran, "snapshot"), exit_status, recording_stopped (why, if early),
-- events, lost_events (no room), torn_records (cut off by the program's death), reused_addresses (a free was lost),
-- unknown_frees, missing_slots (where the journal was cut: how much of it), and how far it is: imported_slots, resolved_frames.
-- Of a recording that keeps a part of its past only: keep ("2GiB", "24h"), folded_event and folded_time_ns (see table period).
-- Of a PyTorch snapshot (ended "snapshot"; every event has the same thread, times are of the wall clock): snapshot (its file's name),
-- snapshot_entries (of its traces), snapshot_earlier_blocks (alive when they began).
CREATE TABLE run (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE device (
	id              INTEGER PRIMARY KEY,  -- CUDA ordinal as the program saw it
	name            TEXT NOT NULL,
	total_bytes     INTEGER NOT NULL,
	capability      INTEGER NOT NULL,     -- major * 10 + minor
	multiprocessors INTEGER NOT NULL,
	driver_version  INTEGER NOT NULL,
	simulated       INTEGER NOT NULL,
	-- Device use that no allocation explains, from the first memory_info sample on this device:
	-- used then - recorded then (the context, other processes).  NULL where there was no sample.
	context_bytes   INTEGER
);

CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE module (                 -- loaded ELF objects
	id       INTEGER PRIMARY KEY,
	path     TEXT NOT NULL,
	build_id TEXT NOT NULL,       -- hexadecimal, '' where there is none
	start    INTEGER NOT NULL,
	end      INTEGER NOT NULL,
	bias     INTEGER NOT NULL
);

-- Stacks are trees: a node is a frame and the node that called it, so that stacks share their outer frames.
CREATE TABLE native_frame (
	id            INTEGER PRIMARY KEY,
	address       INTEGER NOT NULL,   -- return address in the process; 0: the stack was cut here
	module        INTEGER,            -- module.id; NULL: code of no file, whose callers are guessed
	symbol        TEXT,               -- demangled; NULL where none was found
	symbol_offset INTEGER,
	file          TEXT,               -- from debug information, where there is any
	line          INTEGER
);
CREATE TABLE native_node (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);  -- parent 0: outermost
CREATE TABLE native_stack (id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, depth INTEGER NOT NULL);

CREATE TABLE python_code (id INTEGER PRIMARY KEY, file TEXT NOT NULL, name TEXT NOT NULL, first_line INTEGER NOT NULL);
-- Only while a recording is being imported (empty afterwards): what decodes the lines of frames still to come.
CREATE TABLE python_line_table (code INTEGER PRIMARY KEY, python_minor INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE python_frame (
	id           INTEGER PRIMARY KEY,
	code         INTEGER NOT NULL,
	line         INTEGER NOT NULL,    -- 0 or less: not known
	self_type    INTEGER,             -- string.id: class of `self`, where that is a module or an optimizer
	self_address INTEGER              -- identity of that instance
);
CREATE TABLE python_node (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);
CREATE TABLE python_stack (id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, depth INTEGER NOT NULL);

-- One row per allocation; its free, when there is one, in the same row.
CREATE TABLE allocation (
	id                  INTEGER PRIMARY KEY,  -- event number of the allocation
	kind                INTEGER NOT NULL,     -- memory_kind.id
	device              INTEGER NOT NULL,
	address             INTEGER NOT NULL,     -- pointer; vmm: the handle
	size_bytes          INTEGER NOT NULL,
	stream              INTEGER NOT NULL,     -- blocks: PyTorch's number of it, 0: the default one, or not known
	function            INTEGER NOT NULL,     -- function.id
	thread              INTEGER NOT NULL,
	time_ns             INTEGER NOT NULL,
	native_stack        INTEGER,
	python_stack        INTEGER,
	scope               INTEGER,
	node_class          INTEGER,              -- autograd node that was being evaluated
	node_sequence       INTEGER,
	forward_sequence    INTEGER,              -- last sequence number given to a new node on that thread
	allocated_bytes     INTEGER NOT NULL,     -- the framework allocator's totals after the event (blocks only)
	reserved_bytes      INTEGER NOT NULL,
	freed_event         INTEGER,              -- NULL: never freed.  vmm: the event that dropped the last reference or mapping
	freed_time_ns       INTEGER,
	freed_thread        INTEGER,
	freed_function      INTEGER,
	freed_native_stack  INTEGER,
	freed_python_stack  INTEGER,
	freed_scope         INTEGER,
	freed_node_class    INTEGER,              -- set: the block was released by this autograd node
	freed_node_sequence INTEGER,
	forward_python_stack       INTEGER,       -- where the forward call stood that created node_sequence
	freed_forward_python_stack INTEGER,       -- ... freed_node_sequence
	requested_bytes     INTEGER,              -- blocks: what was asked for before rounding; NULL: not known or below 512
	grad                INTEGER,              -- blocks: 1 autograd recorded operators; 2 it did not (no_grad or inference_mode); NULL: not known
	freed_grad          INTEGER               -- ... when it was freed
);

-- What an allocation goes with, where the recorder knows it: the handle of the context that it was made in (cuMemAlloc, managed,
-- pinned, arrays, opened and external memory), of its pool (where it was not named, the device's current one), of the graph that it is a node of.
CREATE TABLE allocation_parent (allocation INTEGER PRIMARY KEY, parent INTEGER NOT NULL);

-- Events that neither create nor destroy memory by themselves: reserve, map, release, frees of unknown pointers, memory_info, captures,
-- contexts, ...
CREATE TABLE event (
	id           INTEGER PRIMARY KEY,
	time_ns      INTEGER NOT NULL,
	thread       INTEGER NOT NULL,
	op           INTEGER NOT NULL,    -- operation.id
	kind         INTEGER NOT NULL,
	device       INTEGER NOT NULL,
	function     INTEGER NOT NULL,
	address      INTEGER NOT NULL,
	size_bytes   INTEGER NOT NULL,    -- memory_info: total bytes, of the device (kind segment) or held by a pool or for graphs
	extra        INTEGER NOT NULL,    -- map: handle; memory_info: free bytes of them; capture_end, instantiate: graph
	native_stack INTEGER,
	python_stack INTEGER
);

CREATE TABLE out_of_memory (
	event           INTEGER PRIMARY KEY,
	time_ns         INTEGER NOT NULL,
	thread          INTEGER NOT NULL,
	device          INTEGER NOT NULL,
	requested_bytes INTEGER NOT NULL, -- before rounding, where the recorder knew that
	allocated_bytes INTEGER NOT NULL,
	reserved_bytes  INTEGER NOT NULL,
	native_stack    INTEGER,
	python_stack    INTEGER,
	scope           INTEGER,
	node_class      INTEGER,
	node_sequence   INTEGER,
	stream          INTEGER,          -- as of allocation
	grad            INTEGER,          -- as of allocation
	forward_python_stack INTEGER      -- as of allocation
);

CREATE TABLE mark (
	event        INTEGER PRIMARY KEY,
	time_ns      INTEGER NOT NULL,
	thread       INTEGER NOT NULL,
	kind         INTEGER NOT NULL,    -- mark_kind.id
	source       INTEGER NOT NULL,    -- mark_source.id
	name         INTEGER NOT NULL,    -- string.id
	python_stack INTEGER
);

-- What the probe saw: the program's own objects, looked at now and then.  A row of tensor says that the storage at that address
-- was alive at that event and what the program called it; the allocation is the one that was live there then.
CREATE TABLE probe (
	id          INTEGER PRIMARY KEY,
	event       INTEGER NOT NULL,     -- the last one before its end
	time_ns     INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	thread      INTEGER NOT NULL,
	reason      INTEGER,              -- string.id: what made it look then
	tensors     INTEGER NOT NULL
);
CREATE TABLE tensor (
	id         INTEGER PRIMARY KEY,
	event      INTEGER NOT NULL,
	probe      INTEGER NOT NULL,
	device     INTEGER NOT NULL,
	address    INTEGER NOT NULL,      -- of its storage
	size_bytes INTEGER NOT NULL,      -- of its storage
	role       INTEGER NOT NULL,      -- tensor_role.id: where it was found
	flags      INTEGER NOT NULL,      -- 1 requires_grad, 2 leaf, 4 sees a part of its storage only
	name       INTEGER,               -- string.id: layers.3.mlp.up_proj.weight; role held: the way to it
	holder     INTEGER,               -- string.id: the variable that its root was found in; held: kinds of links
	dtype      INTEGER,               -- string.id
	shape      INTEGER                -- string.id: 4096,11008
);
CREATE TABLE torch_module (               -- instances of nn.Module
	id           INTEGER PRIMARY KEY,
	event        INTEGER NOT NULL,
	probe        INTEGER NOT NULL,
	address      INTEGER NOT NULL,    -- python_frame.self_address
	class        INTEGER,             -- string.id
	name         INTEGER,             -- string.id: path from its root; NULL: it is the root
	holder       INTEGER,             -- string.id: the variable that its root was found in
	root_address INTEGER NOT NULL
);

-- What PyTorch's operators read and wrote, for the steps that were observed.  Operators nest: aten::linear calls aten::addmm.
CREATE TABLE operator (
	id                   INTEGER PRIMARY KEY,  -- counts from 1 in the order of beginning
	event                INTEGER NOT NULL,     -- the last one before it began; without device tensors as inputs: before it ended
	end_event            INTEGER,              -- the last one before it ended; NULL: not recorded
	thread               INTEGER NOT NULL,
	parent               INTEGER,              -- operator.id: what called it on this thread; without a row if that had no device tensor
	name                 INTEGER NOT NULL,     -- string.id: aten::addmm; of an autograd Function written in Python its class
	sequence             INTEGER,              -- of the first autograd node that was made inside it; NULL: none was
	node_class           INTEGER,              -- autograd node that was being evaluated; NULL: forward
	node_sequence        INTEGER,
	python_stack         INTEGER,
	forward_python_stack INTEGER               -- as of allocation
);
-- Its device tensors in order; list arguments have a row for each element.  In-place operators and views return what they were given.
CREATE TABLE operator_tensor (
	operator   INTEGER NOT NULL,
	is_output  INTEGER NOT NULL,
	position   INTEGER NOT NULL,          -- which argument or result, from 0
	element    INTEGER NOT NULL,          -- index in a list, else 0
	allocation INTEGER                    -- that holds the storage; NULL: not known
);

-- What the program knows of code that it made itself, by the file name of that code (python_code.file).
CREATE TABLE python_source (
	file TEXT NOT NULL,
	kind INTEGER NOT NULL,            -- 1 the number of a notebook's cell; 2 lines that torch.compile generated, each behind its number; 3 the user's lines behind those (analyzer/model/generated_lines.h)
	part INTEGER NOT NULL,            -- long texts are cut into parts, from 0
	text TEXT NOT NULL,
	PRIMARY KEY (file, kind, part)
) WITHOUT ROWID;

-- Peaks per device.  used = bytes held from the driver (segments, vmm, pool, managed, arrays), with what pools keep, without the context.
-- The instant of highest use is the one after which nothing is higher; among equal ones the one with most allocated bytes, then the first.
CREATE TABLE peak (
	device                INTEGER PRIMARY KEY,
	event                 INTEGER NOT NULL,
	used_bytes            INTEGER NOT NULL,
	allocated_bytes       INTEGER NOT NULL,  -- block bytes at that instant
	max_allocated_event   INTEGER NOT NULL,  -- instant of most block bytes, and how many
	max_allocated_bytes   INTEGER NOT NULL
);

-- Of a recording with run.keep: what is known of each hour, or of several that were merged, of the run (id: its first hour, from 1).
-- Of events up to run.folded_event there are rows only of what was live after it, or at one of the instants of table peak and of
-- period_peak, or at the first failed request or a period's last one: whatever was live at such an instant is there, whole.
CREATE TABLE period (
	id              INTEGER PRIMARY KEY,
	start_time_ns   INTEGER NOT NULL,
	end_time_ns     INTEGER NOT NULL,        -- of its last event
	first_event     INTEGER NOT NULL,
	last_event      INTEGER NOT NULL,
	allocations     INTEGER NOT NULL,        -- events of each kind
	frees           INTEGER NOT NULL,
	failed_requests INTEGER NOT NULL,
	marks           INTEGER NOT NULL,
	lost_events     INTEGER NOT NULL
);
CREATE TABLE period_peak (                       -- as of table peak, of the period alone
	period                INTEGER NOT NULL,
	device                INTEGER NOT NULL,
	event                 INTEGER NOT NULL,  -- may be the one before first_event
	used_bytes            INTEGER NOT NULL,
	allocated_bytes       INTEGER NOT NULL,
	max_allocated_event   INTEGER NOT NULL,
	max_allocated_bytes   INTEGER NOT NULL,
	PRIMARY KEY (period, device)
) WITHOUT ROWID;

-- Thresholds (--warn) that were reached while the program ran, and that were no longer.
CREATE TABLE warning (
	id              INTEGER PRIMARY KEY,
	time_ns         INTEGER NOT NULL,        -- of the look that saw it
	event           INTEGER NOT NULL,        -- the last one that was imported then
	device          INTEGER NOT NULL,
	threshold       TEXT NOT NULL,           -- as it was typed
	is_reached      INTEGER NOT NULL,        -- 0: no longer
	bytes           INTEGER NOT NULL,        -- in use, or grown in the threshold's time
	threshold_bytes INTEGER NOT NULL,
	what            TEXT NOT NULL            -- in words
);

-- The words behind the numbers, filled from the program's own lists when the database is made.
CREATE TABLE operation (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE memory_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE mark_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE mark_source (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tensor_role (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE function (id INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- What NVML said while the program ran, looked up by the collector now and then: a row when it is another than before, and
-- one more when it was still so the next time.
CREATE TABLE device_sample (
	time_ns            INTEGER NOT NULL,
	device             INTEGER NOT NULL,
	total_used_bytes   INTEGER NOT NULL,  -- of the device, by everybody
	process_used_bytes INTEGER            -- by this process; NULL where NVML does not say (other pid namespace)
);

-- Every event number with its time and what it was.
CREATE VIEW every_event AS
	SELECT id AS event, time_ns, thread, (SELECT id FROM operation WHERE name = 'alloc') AS op, kind, device, function, address, size_bytes FROM allocation
	UNION ALL
	SELECT freed_event, freed_time_ns, freed_thread, (SELECT id FROM operation WHERE name = 'free'), kind, device, freed_function, address, size_bytes
		FROM allocation WHERE freed_event IS NOT NULL AND kind NOT IN
			(SELECT id FROM memory_kind WHERE name IN ('vmm', 'imported', 'multicast'))
	UNION ALL
	SELECT id, time_ns, thread, op, kind, device, function, address, size_bytes FROM event
	UNION ALL
	SELECT event, time_ns, thread, (SELECT id FROM operation WHERE name = 'out_of_memory'),
			(SELECT id FROM memory_kind WHERE name = 'block'), device,
			(SELECT id FROM function WHERE name = 'c10_reportOutOfMemory'), 0, requested_bytes
		FROM out_of_memory;

-- What was live after event n:  SELECT * FROM live_at WHERE at_event = n
CREATE VIEW live_at AS
	SELECT e.event AS at_event, a.*
	FROM every_event e JOIN allocation a
		ON a.id <= e.event AND (a.freed_event IS NULL OR a.freed_event > e.event);

-- What was live at each device's peak.
CREATE VIEW live_at_peak AS
	SELECT a.* FROM peak p JOIN allocation a
		ON a.device = p.device AND a.id <= p.event AND (a.freed_event IS NULL OR a.freed_event > p.event);

-- Driver-level events in order, to compare with the simulator's ledger.
CREATE VIEW driver_event AS
	SELECT e.event, e.time_ns, e.thread, o.name AS op, k.name AS kind, f.name AS function, e.device, e.address, e.size_bytes
	FROM every_event e
		JOIN operation o ON o.id = e.op
		JOIN memory_kind k ON k.id = e.kind
		JOIN function f ON f.id = e.function
	WHERE k.name <> 'block';  -- those are frameworks' reports
