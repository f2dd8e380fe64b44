-- One training step that a probe has seen: names for what it found, rules for the rest.

INSERT INTO run VALUES
	('command', '["/opt/venv/bin/python", "train.py"]'),
	('cwd', '/opt/project'),
	('duration_ns', '2000000000'),
	('ended', 'exit 0'),
	('events', '14'),
	('lost_events', '0'),
	('pid', '4343'),
	('python', '3.12.4'),
	('recorder', '0.1.0'),
	('start_time_ns', '0'),
	('torch', '2.11.0+cu130'),
	('torn_records', '0');
INSERT INTO device VALUES
	(0, 'NVIDIA H100 80GB HBM3', 84929347584, 90, 132, 13000, 1, 515899392);
INSERT INTO string VALUES
	(1, 'Net'),
	(2, 'Block'),
	(3, 'main: model'),
	(4, 'layers.0'),
	(5, 'layers.0.up.weight'),
	(6, 'base.weight'),
	(7, 'layers.0.up.weight.exp_avg'),
	(8, 'float32'),
	(9, 'bfloat16'),
	(10, '1024,1024'),
	(11, '512,1024'),
	(12, 'train.py:main'),
	(13, 'averages.up'),
	(14, 'Optimizer.step#AdamW.step'),
	(15, 'N5torch8autograd9generated11MmBackward0E'),
	(16, 'optimizer step 1'),
	(17, 'hidden'),
	(18, 'opt'),
	(19, 'AdamW');
INSERT INTO module VALUES
	(1, '/opt/venv/lib/libtorch_cpu.so', '', 0, 0, 0),
	(2, '/opt/project/libgrid.so', '', 0, 0, 0);
INSERT INTO native_frame VALUES
	(1, 4096, 1, 'torch::autograd::Engine::thread_main', 16, NULL, NULL),
	(2, 8192, 2, 'make_grid', 16, NULL, NULL);
INSERT INTO native_node VALUES
	(1, 0, 1),
	(2, 0, 2);
INSERT INTO native_stack VALUES
	(1, 1, 1),
	(2, 2, 1);
INSERT INTO python_code VALUES
	(1, '/opt/project/train.py', 'main', 1),
	(2, '/opt/project/net.py', 'Net.forward', 1),
	(3, '/opt/project/net.py', 'Block.forward', 1),
	(4, '/opt/venv/lib/python3.12/site-packages/torch/optim/adamw.py', 'AdamW.step', 1);
INSERT INTO python_frame VALUES
	(1, 1, 10, NULL, NULL),
	(2, 1, 30, NULL, NULL),
	(3, 2, 5, 1, 1),
	(4, 3, 9, 2, 2),
	(5, 1, 44, NULL, NULL),
	(6, 4, 90, 19, 7);
INSERT INTO python_node VALUES
	(1, 0, 1),
	(2, 0, 2),
	(3, 2, 3),
	(4, 3, 4),
	(5, 0, 5),
	(6, 5, 6);
INSERT INTO python_stack VALUES
	(1, 1, 1),
	(2, 4, 3),
	(3, 6, 2),
	(4, 3, 2);
INSERT INTO allocation (id, kind, device, address, size_bytes, stream, function, thread, time_ns, native_stack, python_stack,
	scope, node_class, node_sequence, forward_sequence, allocated_bytes, reserved_bytes, freed_event, freed_time_ns,
	freed_thread, freed_function, freed_native_stack, freed_python_stack, freed_node_class, freed_node_sequence,
	forward_python_stack) VALUES
	(1, 2, 0, 139637976727552, 67108864, 0, 1, 4343, 10000000, NULL, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, 1, 0, 139637976727552, 4194304, 0, 1, 4343, 20000000, NULL, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 1, 0, 139637980921856, 2097152, 0, 1, 4343, 30000000, NULL, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(4, 1, 0, 139637983019008, 3145728, 0, 1, 4343, 40000000, NULL, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, 1, 0, 139637986164736, 1048576, 0, 1, 4343, 50000000, 2, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(6, 1, 0, 139637987213312, 8388608, 0, 1, 4343, 60000000, NULL, 2, NULL, NULL, NULL, 40, 0, 0, 8, 80000000, 4400, 4, NULL, NULL, 15, 40, NULL),
	(7, 1, 0, 139637995601920, 4194304, 0, 1, 4400, 70000000, 1, NULL, NULL, 15, 40, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(10, 1, 0, 139637999796224, 4194304, 0, 1, 4343, 100000000, NULL, 3, 14, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(12, 1, 0, 139638003990528, 2097152, 0, 1, 4343, 120000000, NULL, 2, NULL, NULL, NULL, 41, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO mark VALUES
	(9, 90000000, 4343, 2, 3, 14, 3),
	(11, 110000000, 4343, 3, 3, 14, 3);
INSERT INTO probe VALUES
	(1, 6, 60500000, 200000, 4343, 16, 4),
	(2, 11, 110500000, 300000, 4343, 16, 6);
INSERT INTO tensor VALUES
	(NULL, 6, 1, 0, 139637976727552, 4194304, 1, 3, 5, 3, 8, 10),
	(NULL, 6, 1, 0, 139637980921856, 2097152, 1, 2, 6, 3, 8, 11),
	(NULL, 6, 1, 0, 139637983019008, 3145728, 9, 2, 13, 12, 8, 10),
	(NULL, 11, 2, 0, 139637976727552, 4194304, 1, 3, 5, 3, 8, 10),
	(NULL, 11, 2, 0, 139637980921856, 2097152, 1, 2, 6, 3, 8, 11),
	(NULL, 11, 2, 0, 139637983019008, 3145728, 9, 2, 13, 12, 8, 10),
	(NULL, 6, 1, 0, 139637987213312, 8388608, 9, 0, 17, 17, 9, NULL),
	(NULL, 11, 2, 0, 139637995601920, 4194304, 4, 0, 5, 3, 8, 10),
	(NULL, 11, 2, 0, 139637999796224, 4194304, 5, 0, 7, 3, 8, 10);
INSERT INTO torch_module VALUES
	(NULL, 6, 1, 1, 1, NULL, 3, 1),
	(NULL, 6, 1, 2, 2, 4, 3, 1);
INSERT INTO peak VALUES
	(0, 12, 67108864, 20971520, 12, 20971520);
