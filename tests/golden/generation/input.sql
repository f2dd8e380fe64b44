-- Three decode steps with a growing key-value cache, expandable segments, weights on two devices; still running.

INSERT INTO run VALUES
	('command', '["/opt/venv/bin/python", "-u", "-m", "serve"]'),
	('cwd', '/opt/project'),
	('duration_ns', '72400000000'),
	('ended', 'running'),
	('env:PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb:128'),
	('events', '35'),
	('lost_events', '0'),
	('pid', '4242'),
	('python', '3.12.4'),
	('recorder', '0.1.0'),
	('start_time_ns', '0'),
	('torch', '2.11.0+cu130'),
	('torn_records', '0');
INSERT INTO device VALUES
	(0, 'NVIDIA H100 80GB HBM3', 84929347584, 90, 132, 13000, 1, 515899392),
	(1, 'NVIDIA H100 80GB HBM3', 84929347584, 90, 132, 13000, 1, 515899392);
INSERT INTO string VALUES
	(1, 'LM'),
	(2, 'Embedding'),
	(3, 'SelfAttention'),
	(4, 'Linear');
INSERT INTO python_code VALUES
	(1, '/opt/project/serve.py', '<module>', 1),
	(2, '/opt/project/serve.py', 'main', 1),
	(3, '/opt/venv/lib/python3.12/site-packages/transformers/modeling_utils.py', 'PreTrainedModel.from_pretrained', 1),
	(4, '/opt/venv/lib/python3.12/site-packages/transformers/generation/utils.py', 'GenerationMixin.generate', 1),
	(5, '/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py', 'Module._wrapped_call_impl', 1),
	(6, '/opt/project/lm.py', 'LM.forward', 1),
	(7, '/opt/venv/lib/python3.12/site-packages/torch/nn/modules/sparse.py', 'Embedding.forward', 1),
	(8, '/opt/project/lm.py', 'SelfAttention.forward', 1),
	(9, '/opt/venv/lib/python3.12/site-packages/transformers/cache_utils.py', 'DynamicLayer.update', 1),
	(10, '/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py', 'Linear.forward', 1),
	(11, '/opt/venv/lib/python3.12/site-packages/transformers/generation/utils.py', 'GenerationMixin._sample', 1);
INSERT INTO python_frame VALUES
	(1, 1, 40, NULL, 0),
	(2, 2, 12, NULL, 0),
	(3, 3, 3942, NULL, 0),
	(4, 2, 20, NULL, 0),
	(5, 4, 2500, 1, 4096),
	(6, 5, 1776, 1, 4096),
	(7, 6, 70, 1, 4096),
	(8, 7, 192, 2, 4500),
	(9, 8, 33, 3, 5000),
	(10, 9, 120, NULL, 0),
	(11, 10, 134, 4, 6000),
	(12, 10, 134, 4, 6100),
	(13, 11, 3247, 1, 4096),
	(14, 11, 3300, 1, 4096);
INSERT INTO python_node VALUES
	(1, 0, 1),
	(2, 1, 2),
	(3, 2, 3),
	(4, 1, 4),
	(5, 4, 5),
	(6, 5, 6),
	(7, 6, 7),
	(8, 7, 8),
	(9, 7, 9),
	(10, 9, 10),
	(11, 9, 11),
	(12, 7, 12),
	(13, 5, 13),
	(14, 5, 14);
INSERT INTO python_stack VALUES
	(1, 3, 3),
	(2, 8, 6),
	(3, 7, 5),
	(4, 10, 7),
	(5, 11, 7),
	(6, 9, 6),
	(7, 12, 6),
	(8, 13, 4),
	(9, 14, 4),
	(10, 5, 3);
INSERT INTO module VALUES
	(1, '/usr/lib/libtorch_cpu.so', '', 0, 0, 0),
	(2, '/usr/lib/libtorch_cuda.so', '', 0, 0, 0),
	(3, '/usr/lib/libc10_cuda.so', '', 0, 0, 0);
INSERT INTO native_frame VALUES
	(1, 4096, 1, 'at::_ops::_to_copy::call(at::Tensor const&)', 16, NULL, NULL),
	(2, 8192, 2, 'at::native::_to_copy_cuda(at::Tensor const&)', 16, NULL, NULL),
	(3, 12288, 3, 'c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, int, unsigned long, CUstream_st*)', 16, NULL, NULL),
	(4, 16384, 1, 'at::_ops::embedding::call(at::Tensor const&)', 16, NULL, NULL),
	(5, 20480, 2, 'at::native::embedding_cuda(at::Tensor const&)', 16, NULL, NULL),
	(6, 24576, 1, 'at::_ops::cat::call(at::Tensor const&)', 16, NULL, NULL),
	(7, 28672, 2, 'at::native::cat_cuda(at::Tensor const&)', 16, NULL, NULL),
	(8, 32768, 1, 'at::_ops::mm::call(at::Tensor const&)', 16, NULL, NULL),
	(9, 36864, 2, 'at::native::mm_cuda(at::Tensor const&)', 16, NULL, NULL);
INSERT INTO native_node VALUES
	(1, 0, 1),
	(2, 1, 2),
	(3, 2, 3),
	(4, 0, 4),
	(5, 4, 5),
	(6, 5, 3),
	(7, 0, 6),
	(8, 7, 7),
	(9, 8, 3),
	(10, 0, 8),
	(11, 10, 9),
	(12, 11, 3);
INSERT INTO native_stack VALUES
	(1, 3, 3),
	(2, 6, 3),
	(3, 9, 3),
	(4, 12, 3);
INSERT INTO allocation (id, kind, device, address, size_bytes, stream, function, thread, time_ns, native_stack, python_stack,
	scope, node_class, node_sequence, forward_sequence, allocated_bytes, reserved_bytes, freed_event, freed_time_ns,
	freed_thread, freed_function, freed_native_stack, freed_python_stack, freed_scope, freed_node_class,
	freed_node_sequence) VALUES
	(1, 3, 0, 11, 1073741824, 0, 11, 4242, 1000000, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 3, 0, 12, 1073741824, 0, 11, 4242, 3000000, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, 3, 1, 13, 1073741824, 0, 11, 4242, 5000000, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(7, 1, 0, 139637976727552, 734003200, 0, 100, 4242, 7000000, 1, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(8, 1, 0, 139638710730752, 629145600, 0, 100, 4242, 8000000, 1, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(9, 1, 1, 138538465099776, 536870912, 0, 100, 4242, 9000000, 1, 1, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(10, 1, 0, 139639339876352, 4194304, 0, 100, 4242, 10000000, 2, 2, NULL, NULL, NULL, NULL, 0, 0, 11, 11000000, 4242, 100, NULL, 3, NULL, NULL, NULL),
	(12, 1, 0, 139639339876352, 20971520, 0, 100, 4242, 12000000, 3, 4, NULL, NULL, NULL, NULL, 0, 0, 21, 21000000, 4242, 100, NULL, 4, NULL, NULL, NULL),
	(13, 1, 0, 139639360847872, 2097152, 0, 100, 4242, 13000000, 4, 5, NULL, NULL, NULL, NULL, 0, 0, 14, 14000000, 4242, 100, NULL, 6, NULL, NULL, NULL),
	(15, 1, 0, 139639360847872, 8388608, 0, 100, 4242, 15000000, 4, 7, NULL, NULL, NULL, NULL, 0, 0, 18, 18000000, 4242, 100, NULL, 10, NULL, NULL, NULL),
	(16, 1, 0, 139639369236480, 16777216, 0, 100, 4242, 16000000, 1, 8, NULL, NULL, NULL, NULL, 0, 0, 19, 19000000, 4242, 100, NULL, 10, NULL, NULL, NULL),
	(17, 1, 0, 139639386013696, 512, 0, 100, 4242, 17000000, 3, 9, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(20, 1, 0, 139639386014208, 41943040, 0, 100, 4242, 20000000, 3, 4, NULL, NULL, NULL, NULL, 0, 0, 30, 30000000, 4242, 100, NULL, 4, NULL, NULL, NULL),
	(22, 1, 0, 139639339876352, 2097152, 0, 100, 4242, 22000000, 4, 5, NULL, NULL, NULL, NULL, 0, 0, 23, 23000000, 4242, 100, NULL, 6, NULL, NULL, NULL),
	(24, 1, 0, 139639339876352, 8388608, 0, 100, 4242, 24000000, 4, 7, NULL, NULL, NULL, NULL, 0, 0, 27, 27000000, 4242, 100, NULL, 10, NULL, NULL, NULL),
	(25, 1, 0, 139639348264960, 16777216, 0, 100, 4242, 25000000, 1, 8, NULL, NULL, NULL, NULL, 0, 0, 28, 28000000, 4242, 100, NULL, 10, NULL, NULL, NULL),
	(26, 1, 0, 139639365042176, 512, 0, 100, 4242, 26000000, 3, 9, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(29, 1, 0, 139639427957248, 62914560, 0, 100, 4242, 29000000, 3, 4, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(31, 1, 0, 139639339876352, 2097152, 0, 100, 4242, 31000000, 4, 5, NULL, NULL, NULL, NULL, 0, 0, 32, 32000000, 4242, 100, NULL, 6, NULL, NULL, NULL),
	(33, 1, 0, 139639339876352, 8388608, 0, 100, 4242, 33000000, 4, 7, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(34, 1, 0, 139639348264960, 16777216, 0, 100, 4242, 34000000, 1, 8, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(35, 1, 0, 139639365042688, 512, 0, 100, 4242, 35000000, 3, 9, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO event VALUES
	(2, 2000000, 4242, 6, 3, 0, 13, 139637976727552, 1073741824, 11, NULL, NULL),
	(4, 4000000, 4242, 6, 3, 0, 13, 139639050469376, 1073741824, 12, NULL, NULL),
	(6, 6000000, 4242, 6, 3, 1, 13, 138538465099776, 1073741824, 13, NULL, NULL);
INSERT INTO peak VALUES
	(0, 29, 2147483648, 1468007424, 29, 1468007424),
	(1, 9, 1073741824, 536870912, 9, 536870912);
