-- A program that loaded CUDA and allocated nothing.

INSERT INTO run VALUES
	('command', '["/opt/venv/bin/python", "train.py", "--steps", "3"]'),
	('cwd', '/opt/project'),
	('duration_ns', '72400000000'),
	('ended', 'exit 0'),
	('env:PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb:128'),
	('events', '0'),
	('exit_status', '0'),
	('lost_events', '0'),
	('pid', '4242'),
	('python', '3.12.4'),
	('recorder', '0.1.0'),
	('start_time_ns', '0'),
	('torch', '2.11.0+cu130'),
	('torn_records', '0');
