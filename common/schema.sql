-- The vtrace database.  It is public: documented here and in FORMAT.md, and versioned by user_version; later versions only add.
-- It stores facts; owners are assigned when it is read.  Units: bytes, nanoseconds (CLOCK_MONOTONIC), event numbers from 1.
-- INTEGER columns named *_class, class, scope, name, holder, dtype, shape and reason hold string.id.

-- One row per fact about the run.
-- From the recorder: command (JSON array), executable, cwd, hostname, recorder, python, operators (why they are not observed),
-- env:NAME for each stored environment variable, and uuid:N for device N.  If a launcher started the program
-- (common/launchers.h): launcher, rank, world_size, local_rank, and job (equal for all processes of one start).
-- From the importer: pid, start_time_ns, start_realtime_ns, duration_ns, torch,
-- ended ("running", "exit N", "signal N", "killed" (the status is unknown), "snapshot", "frozen"), exit_status,
-- no_exit_handlers (1: the program ended by _exit), recording_stopped (the reason, if recording ended early), events,
-- lost_events (there was no space for them), torn_records (incomplete when the program died), reused_addresses (a free was lost),
-- unknown_frees, missing_slots (of a truncated journal), and the progress of the import: imported_slots, resolved_frames.
-- With --keep: keep ("2GiB", "24h"), folded_event and folded_time_ns (see table period).
-- For a PyTorch snapshot (ended "snapshot"; all events have the same thread, and times are those of the wall clock):
-- snapshot (the name of its file), snapshot_entries (in its traces), snapshot_earlier_blocks (live when the traces began).
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
	-- Bytes in use that no allocation explains (the context, other processes), at the first memory_info
	-- sample of this device: used - recorded.  NULL: there was no sample.
	context_bytes   INTEGER
);

CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE module (                 -- loaded ELF objects
	id       INTEGER PRIMARY KEY,
	path     TEXT NOT NULL,
	build_id TEXT NOT NULL,       -- hexadecimal; '': none
	start    INTEGER NOT NULL,
	end      INTEGER NOT NULL,
	bias     INTEGER NOT NULL
);

-- Stacks form trees: a node is a frame and the node of its caller, so stacks share their outer frames.
CREATE TABLE native_frame (
	id            INTEGER PRIMARY KEY,
	address       INTEGER NOT NULL,   -- return address in the process; 0: the stack was cut here
	module        INTEGER,            -- module.id; NULL: the code is in no file, and its callers are guessed
	symbol        TEXT,               -- demangled; NULL: not found
	symbol_offset INTEGER,
	file          TEXT,               -- from debug information, if there is any
	line          INTEGER
);
CREATE TABLE native_node (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);  -- parent 0: outermost
CREATE TABLE native_stack (id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, depth INTEGER NOT NULL);

CREATE TABLE python_code (id INTEGER PRIMARY KEY, file TEXT NOT NULL, name TEXT NOT NULL, first_line INTEGER NOT NULL);
-- Line tables for frames that are not imported yet.  Used during import, empty afterwards.
CREATE TABLE python_line_table (code INTEGER PRIMARY KEY, python_minor INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE python_frame (
	id           INTEGER PRIMARY KEY,
	code         INTEGER NOT NULL,
	line         INTEGER NOT NULL,    -- 0 or less: not known
	self_type    INTEGER,             -- string.id: class of `self`, if it is a module or an optimizer
	self_address INTEGER              -- identity of that instance
);
CREATE TABLE python_node (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);
CREATE TABLE python_stack (id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, depth INTEGER NOT NULL);

-- Each caller that allocates or frees memory is stored once, because a program that runs in steps repeats the same callers.
-- The view allocation, below, has everything in one row.
CREATE TABLE allocation_made (
	id                   INTEGER PRIMARY KEY,
	kind                 INTEGER NOT NULL,     -- memory_kind.id
	device               INTEGER NOT NULL,
	stream               INTEGER NOT NULL,     -- blocks: PyTorch's stream number; 0: the default stream, or unknown
	function             INTEGER NOT NULL,     -- function.id
	thread               INTEGER NOT NULL,
	native_stack         INTEGER,
	python_stack         INTEGER,
	scope                INTEGER,
	node_class           INTEGER,              -- autograd node that was being evaluated
	forward_python_stack INTEGER,              -- stack of the forward call that created node_sequence
	grad                 INTEGER               -- blocks: 1: autograd recorded operators; 2: it did not (no_grad or inference_mode); NULL: unknown
);

CREATE TABLE allocation_freed (
	id                   INTEGER PRIMARY KEY,
	thread               INTEGER NOT NULL,
	function             INTEGER NOT NULL,
	native_stack         INTEGER,
	python_stack         INTEGER,
	scope                INTEGER,
	node_class           INTEGER,              -- if set, the block was released by this autograd node
	forward_python_stack INTEGER,              -- stack of the forward call that created freed_node_sequence
	grad                 INTEGER               -- like allocation_made.grad, when it was freed
);

-- Which caller made an allocation, and which one freed it.
CREATE TABLE allocation_callers (
	id    INTEGER PRIMARY KEY,
	made  INTEGER NOT NULL,    -- allocation_made.id
	freed INTEGER              -- allocation_freed.id; NULL: never freed
);

-- Rows of allocation_row are stored as differences from these bases, because small numbers take fewer bytes.  One base per 256
-- event numbers: id is allocation_row.id >> 8.
CREATE TABLE allocation_base (
	id              INTEGER PRIMARY KEY,
	time_ns         INTEGER NOT NULL,
	address         INTEGER NOT NULL,
	sequence        INTEGER NOT NULL,     -- sequence number of autograd nodes
	allocated_bytes INTEGER NOT NULL
);

-- One row per allocation, with its free, if there is one.  Columns with "offset", the packed address and the packed totals are
-- differences from allocation_base.  Packed: a multiple of 512 is stored divided by 256, which is even; any other number of bytes
-- is stored as twice that number plus 1.
CREATE TABLE allocation_row (
	id                         INTEGER PRIMARY KEY,  -- event number of the allocation
	callers                    INTEGER NOT NULL,     -- allocation_callers.id
	address_packed             INTEGER NOT NULL,
	size_packed                INTEGER NOT NULL,
	rounding_bytes             INTEGER,              -- size_bytes - requested_bytes
	time_offset_ns             INTEGER NOT NULL,
	node_sequence_offset       INTEGER,
	forward_sequence_offset    INTEGER,
	allocated_packed           INTEGER,              -- NULL: allocated_bytes is 0
	lived_events               INTEGER,              -- freed_event - id; NULL: never freed
	lived_ns                   INTEGER,
	freed_node_sequence_offset INTEGER
);

-- What the framework's allocator had reserved after each allocation of a block.  One row per change; before the first row, 0.
CREATE TABLE allocator_reserved (
	device         INTEGER NOT NULL,
	event          INTEGER NOT NULL,
	reserved_bytes INTEGER NOT NULL,
	PRIMARY KEY (device, event)
) WITHOUT ROWID;

-- Columns of the view:
-- address: the pointer; for vmm, the handle.
-- requested_bytes: the size of a block before rounding; NULL: unknown, or below 512.
-- forward_sequence: the last sequence number given to a new autograd node on that thread.
-- allocated_bytes, reserved_bytes: the framework allocator's totals after the event (blocks only).
-- freed_event: NULL: never freed; for vmm, the event that dropped the last reference or mapping.
CREATE VIEW allocation AS
	SELECT r.id, m.kind, m.device,
		b.address + CASE WHEN r.address_packed & 1 THEN r.address_packed >> 1 ELSE r.address_packed << 8 END AS address,
		CASE WHEN r.size_packed & 1 THEN r.size_packed >> 1 ELSE r.size_packed << 8 END AS size_bytes,
		m.stream, m.function, m.thread, b.time_ns + r.time_offset_ns AS time_ns, m.native_stack, m.python_stack,
		m.scope, m.node_class, b.sequence + r.node_sequence_offset AS node_sequence,
		b.sequence + r.forward_sequence_offset AS forward_sequence,
		CASE WHEN r.allocated_packed IS NULL THEN 0 WHEN r.allocated_packed & 1 THEN b.allocated_bytes + (r.allocated_packed >> 1)
			ELSE b.allocated_bytes + (r.allocated_packed << 8) END AS allocated_bytes,
		CASE WHEN m.kind = 1 THEN ifnull((SELECT v.reserved_bytes FROM allocator_reserved v WHERE v.device = m.device
			AND v.event <= r.id ORDER BY v.event DESC LIMIT 1), 0) ELSE 0 END AS reserved_bytes,
		r.id + r.lived_events AS freed_event, b.time_ns + r.time_offset_ns + r.lived_ns AS freed_time_ns, f.thread AS freed_thread,
		f.function AS freed_function, f.native_stack AS freed_native_stack, f.python_stack AS freed_python_stack,
		f.scope AS freed_scope, f.node_class AS freed_node_class, b.sequence + r.freed_node_sequence_offset AS freed_node_sequence,
		m.forward_python_stack, f.forward_python_stack AS freed_forward_python_stack,
		CASE WHEN r.size_packed & 1 THEN r.size_packed >> 1 ELSE r.size_packed << 8 END - r.rounding_bytes AS requested_bytes,
		m.grad, f.grad AS freed_grad
	FROM allocation_row r LEFT JOIN allocation_base b ON b.id = r.id >> 8 LEFT JOIN allocation_callers c ON c.id = r.callers
		LEFT JOIN allocation_made m ON m.id = c.made LEFT JOIN allocation_freed f ON f.id = c.freed;

-- What an allocation belongs to, if known.  parent is the handle of the context in which it was allocated (cuMemAlloc, managed
-- and pinned memory, arrays, opened and external memory), of its pool (the device's current pool, if none was named), or of the
-- graph that its node is in.
CREATE TABLE allocation_parent (allocation INTEGER PRIMARY KEY, parent INTEGER NOT NULL);

-- Events that neither allocate nor free memory: reserve, map, release, frees of unknown pointers, memory_info, captures,
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
	size_bytes   INTEGER NOT NULL,    -- memory_info: total bytes of the device (kind segment), or bytes held by a pool or for graphs
	extra        INTEGER NOT NULL,    -- map: the handle; memory_info: how many of these bytes are free; capture_end, instantiate: the graph
	native_stack INTEGER,
	python_stack INTEGER
);

CREATE TABLE out_of_memory (
	event           INTEGER PRIMARY KEY,
	time_ns         INTEGER NOT NULL,
	thread          INTEGER NOT NULL,
	device          INTEGER NOT NULL,
	requested_bytes INTEGER NOT NULL, -- before rounding, if known
	allocated_bytes INTEGER NOT NULL,
	reserved_bytes  INTEGER NOT NULL,
	native_stack    INTEGER,
	python_stack    INTEGER,
	scope           INTEGER,
	node_class      INTEGER,
	node_sequence   INTEGER,
	stream          INTEGER,          -- as in allocation
	grad            INTEGER,          -- as in allocation
	forward_python_stack INTEGER      -- as in allocation
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

-- What the probe read from the program's Python objects.  A row of tensor means that the storage at that address was live at that
-- event, and has its name in the program.  It belongs to the allocation that was live at that address at that event.
CREATE TABLE probe (
	id          INTEGER PRIMARY KEY,
	event       INTEGER NOT NULL,     -- the last event before the probe ended
	time_ns     INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	thread      INTEGER NOT NULL,
	reason      INTEGER,              -- string.id: why the probe ran
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
	flags      INTEGER NOT NULL,      -- sum of 1: requires_grad, 2: leaf, 4: a view of a part of its storage
	name       INTEGER,               -- string.id, such as layers.3.mlp.up_proj.weight; role held: the path to the tensor
	holder     INTEGER,               -- string.id: the variable in which its root was found; role held: the kinds of links
	dtype      INTEGER,               -- string.id
	shape      INTEGER                -- string.id, such as 4096,11008
);
CREATE TABLE torch_module (               -- instances of nn.Module
	id           INTEGER PRIMARY KEY,
	event        INTEGER NOT NULL,
	probe        INTEGER NOT NULL,
	address      INTEGER NOT NULL,    -- python_frame.self_address
	class        INTEGER,             -- string.id
	name         INTEGER,             -- string.id: path from its root; NULL: this is the root
	holder       INTEGER,             -- string.id: the variable in which its root was found
	root_address INTEGER NOT NULL
);

-- What PyTorch's operators read and wrote in the steps that were observed.  Operators nest: aten::linear calls aten::addmm.
CREATE TABLE operator (
	id                   INTEGER PRIMARY KEY,  -- from 1, in the order in which operators began
	event                INTEGER NOT NULL,     -- the last event before it began; if it had no device tensors as inputs, before it ended
	end_event            INTEGER,              -- the last event before it ended; NULL: not recorded
	thread               INTEGER NOT NULL,
	parent               INTEGER,              -- operator.id of its caller on this thread; a caller without device tensors has no row
	name                 INTEGER NOT NULL,     -- string.id, such as aten::addmm; for an autograd Function written in Python, its class
	sequence             INTEGER,              -- sequence number of the first autograd node created inside it; NULL: none
	node_class           INTEGER,              -- autograd node that was being evaluated; NULL: forward
	node_sequence        INTEGER,
	python_stack         INTEGER,
	forward_python_stack INTEGER               -- as in allocation
);
-- The device tensors of an operator, in order; a list argument has one row per element.  In-place operators and views return
-- their inputs.
CREATE TABLE operator_tensor (
	operator   INTEGER NOT NULL,
	is_output  INTEGER NOT NULL,
	position   INTEGER NOT NULL,          -- which argument or result, from 0
	element    INTEGER NOT NULL,          -- index in a list, otherwise 0
	allocation INTEGER                    -- allocation.id of the storage; NULL: unknown
);

-- Information about generated code; file is the name in python_code.file.
CREATE TABLE python_source (
	file TEXT NOT NULL,
	kind INTEGER NOT NULL,            -- 1: the number of a notebook cell; 2: lines that torch.compile generated, each after its number; 3: the user's lines for those (analyzer/model/generated_lines.h)
	part INTEGER NOT NULL,            -- long texts are split into parts, numbered from 0
	text TEXT NOT NULL,
	PRIMARY KEY (file, kind, part)
) WITHOUT ROWID;

-- The peak of each device.  used_bytes: bytes held from the driver (segments, vmm, pool, managed, arrays), including what pools
-- keep, without the context.  If several moments have the same highest use, the peak is the one with the most allocated bytes;
-- among those, the first.
CREATE TABLE peak (
	device                INTEGER PRIMARY KEY,
	event                 INTEGER NOT NULL,
	used_bytes            INTEGER NOT NULL,
	allocated_bytes       INTEGER NOT NULL,  -- block bytes at that moment
	max_allocated_event   INTEGER NOT NULL,  -- the moment with the most block bytes
	max_allocated_bytes   INTEGER NOT NULL
);

-- In a recording with run.keep: a summary of each hour of the run, or of several merged hours (id: the first hour, from 1).
-- Among the events up to run.folded_event, only allocations that were live after it, at a moment in table peak or period_peak, or
-- at the first or last failed request of a period still have rows.  Everything that was live at such a moment has its row.
CREATE TABLE period (
	id              INTEGER PRIMARY KEY,
	start_time_ns   INTEGER NOT NULL,
	end_time_ns     INTEGER NOT NULL,        -- time of its last event
	first_event     INTEGER NOT NULL,
	last_event      INTEGER NOT NULL,
	allocations     INTEGER NOT NULL,        -- number of events of each kind
	frees           INTEGER NOT NULL,
	failed_requests INTEGER NOT NULL,
	marks           INTEGER NOT NULL,
	lost_events     INTEGER NOT NULL
);
CREATE TABLE period_peak (                       -- like table peak, for this period only
	period                INTEGER NOT NULL,
	device                INTEGER NOT NULL,
	event                 INTEGER NOT NULL,  -- can be the event before first_event
	used_bytes            INTEGER NOT NULL,
	allocated_bytes       INTEGER NOT NULL,
	max_allocated_event   INTEGER NOT NULL,
	max_allocated_bytes   INTEGER NOT NULL,
	PRIMARY KEY (period, device)
) WITHOUT ROWID;

-- Thresholds (--warn) that were reached while the program ran, and when use fell below them again.
CREATE TABLE warning (
	id              INTEGER PRIMARY KEY,
	time_ns         INTEGER NOT NULL,        -- when it was detected, or the time of the peak
	event           INTEGER NOT NULL,        -- the last event that was imported then
	device          INTEGER NOT NULL,
	threshold       TEXT NOT NULL,           -- as given on the command line
	is_reached      INTEGER NOT NULL,        -- 0: use fell below it
	bytes           INTEGER NOT NULL,        -- in use, or growth in the threshold's period
	threshold_bytes INTEGER NOT NULL,
	what            TEXT NOT NULL            -- the message
);

-- Names of the numbers in the tables above.  Filled when the database is created.
CREATE TABLE operation (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE memory_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE mark_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE mark_source (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tensor_role (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE function (id INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- What NVML reported while the program ran, sampled by the collector.  There is a row when the value changed, and another one if
-- the next sample was the same.
CREATE TABLE device_sample (
	time_ns            INTEGER NOT NULL,
	device             INTEGER NOT NULL,
	total_used_bytes   INTEGER NOT NULL,  -- used on the device by all processes
	process_used_bytes INTEGER            -- used by this process; NULL: NVML does not report it (another pid namespace)
);

-- Every event, with its time and operation.
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

-- Driver events in order, for comparison with the simulator's ledger.
CREATE VIEW driver_event AS
	SELECT e.event, e.time_ns, e.thread, o.name AS op, k.name AS kind, f.name AS function, e.device, e.address, e.size_bytes
	FROM every_event e
		JOIN operation o ON o.id = e.op
		JOIN memory_kind k ON k.id = e.kind
		JOIN function f ON f.id = e.function
	WHERE k.name <> 'block';  -- blocks are reported by frameworks
