-- A CUDA program without Python on a real card, killed; the recorder lost three events.

INSERT INTO run VALUES
	('command', '["./solver", "grid.in"]'),
	('duration_ns', '3000000000'),
	('ended', 'signal 9'),
	('events', '7'),
	('lost_events', '3'),
	('pid', '77'),
	('recorder', '0.1.0'),
	('start_time_ns', '0'),
	('torn_records', '1');
INSERT INTO device VALUES
	(0, 'NVIDIA A100-SXM4-40GB', 42297786368, 80, 108, 12080, 0, NULL);
INSERT INTO module VALUES
	(1, '/usr/lib/solver', '', 0, 0, 0),
	(2, '/usr/lib/libcudart.so.12', '', 0, 0, 0),
	(3, '/usr/lib/libcublas.so.12', '', 0, 0, 0),
	(4, '/usr/lib/libnccl.so.2', '', 0, 0, 0);
INSERT INTO native_frame VALUES
	(1, 4096, 1, 'main', 16, NULL, NULL),
	(2, 8192, 1, 'make_grid(int, int)', 16, NULL, NULL),
	(3, 12288, 2, 'cudaMalloc', 16, NULL, NULL),
	(4, 16384, 1, '(anonymous namespace)::Sweep::run(Grid<double, 3> const&)', 16, NULL, NULL),
	(5, 20480, 2, 'cudaMallocAsync', 16, NULL, NULL),
	(6, 24576, 3, 'cublasCreate_v2', 16, NULL, NULL),
	(7, 28672, 3, NULL, NULL, NULL, NULL),
	(8, 32768, 4, 'ncclCommInitRank', 16, NULL, NULL),
	(9, 36864, 2, 'cudaHostAlloc', 16, NULL, NULL);
INSERT INTO native_node VALUES
	(1, 0, 1),
	(2, 1, 2),
	(3, 2, 3),
	(4, 1, 4),
	(5, 4, 5),
	(6, 1, 6),
	(7, 6, 7),
	(8, 7, 3),
	(9, 1, 8),
	(10, 1, 9);
INSERT INTO native_stack VALUES
	(1, 3, 3),
	(2, 5, 3),
	(3, 8, 4),
	(4, 9, 2),
	(5, 10, 2),
	(6, 1, 1);
INSERT INTO allocation (id, kind, device, address, size_bytes, stream, function, thread, time_ns, native_stack, python_stack,
	scope, node_class, node_sequence, forward_sequence, allocated_bytes, reserved_bytes, freed_event, freed_time_ns,
	freed_thread, freed_function, freed_native_stack, freed_python_stack, freed_scope, freed_node_class,
	freed_node_sequence) VALUES
	(1, 2, 0, 139637976727552, 2147483648, 0, 1, 77, 1000000, 1, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, 2, 0, 139640124211200, 536870912, 0, 1, 77, 2000000, 1, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 4, 0, 139637976727552, 1073741824, 0, 5, 77, 3000000, 2, NULL, NULL, NULL, NULL, NULL, 0, 0, 7, 7000000, 77, 4, 6, NULL, NULL, NULL, NULL),
	(4, 2, 0, 139640661082112, 34603008, 0, 1, 77, 4000000, 3, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, 2, 0, 139640695685120, 16777216, 0, 1, 77, 5000000, 4, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(6, 6, 0, 139637976727552, 67108864, 0, 18, 77, 6000000, 5, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO peak VALUES
	(0, 5, 3809476608, 0, 0, 0);
