/* SPDX-License-Identifier: MIT */
#include "preload/info.h"

#include <string.h>

#include "common/journal_format.h"
#include "common/launchers.h"
#include "preload/config.h"
#include "preload/environment.h"
#include "preload/ids.h"
#include "preload/journal.h"
#include "preload/output.h"
#include "preload/sys.h"
#include "preload/text.h"
#include "preload/thread_state.h"

#define LONGEST_VALUE (32u << 10)
#define LONGEST_COMMAND 8192u
#define MOST_KEYS 64u

static struct {
	uint64_t keys[MOST_KEYS];	/* hashes of the keys that vt_info_once wrote (atomic) */
	uint32_t generation;		/* the recording that they belong to (atomic) */
} g;

/* Variables that decide where memory goes, or which process of several this is. */
static const char *const variables[] = {
	"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING",
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING",
	"CUDA_DEVICE_MAX_CONNECTIONS", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE",
	"TORCH_NCCL_AVOID_RECORD_STREAMS", "NCCL_BUFFSIZE", "NCCL_NTHREADS", "NCCL_MAX_NCHANNELS",
	"NCCL_MIN_NCHANNELS", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "RANK", "LOCAL_RANK",
	"WORLD_SIZE", "LOCAL_WORLD_SIZE", "VTRACE_SIM_PROFILE",
};

static void write_fact(const char *key, const char *value, size_t value_len)
{
	struct vt_info_record *record;
	size_t key_len = strlen(key);
	size_t bytes;
	uint64_t slot;

	if (value_len > LONGEST_VALUE)
		value_len = LONGEST_VALUE;
	bytes = sizeof(*record) + key_len + value_len;
	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return;
	record->key_len = (uint32_t)key_len;
	record->value_len = (uint32_t)value_len;
	memcpy(record->text, key, key_len);
	memcpy(record->text + key_len, value, value_len);
	vt_journal_commit(record, slot, bytes, VT_RECORD_INFO);
}

/* Returns 1 if the key is new in this recording, and remembers it. */
static int claim_key(const char *key)
{
	uint64_t hash = vt_ids_key(key, strlen(key)).low;
	uint32_t now = vt_thread_generation();

	if (__atomic_exchange_n(&g.generation, now, __ATOMIC_RELAXED) != now)
		memset(g.keys, 0, sizeof(g.keys));
	for (uint32_t i = 0; i < MOST_KEYS; i++) {
		uint64_t empty = 0;

		if (__atomic_compare_exchange_n(&g.keys[i], &empty, hash, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
		if (empty == hash)
			return 0;
	}
	return 0;
}

void vt_info_once(const char *key, const char *value)
{
	if (vt_journal_is_recording() && claim_key(key))
		write_fact(key, value, strlen(value));
}

static void write_text(const char *key, const char *value)
{
	write_fact(key, value, strlen(value));
}

/* One argument as a JSON string.  Bytes that are not ASCII go through as they are (UTF-8). */
static void add_json_string(struct vt_text *text, const char *string)
{
	static const char hex[] = "0123456789abcdef";

	vt_text_add_char(text, '"');
	for (; *string; string++) {
		unsigned char c = (unsigned char)*string;

		if (c == '"' || c == '\\') {
			vt_text_add_char(text, '\\');
			vt_text_add_char(text, (char)c);
		} else if (c < ' ') {
			vt_text_add(text, "\\u00");
			vt_text_add_char(text, hex[c >> 4]);
			vt_text_add_char(text, hex[c & 15]);
		} else {
			vt_text_add_char(text, (char)c);
		}
	}
	vt_text_add_char(text, '"');
}

/* The arguments as a JSON array; what is too long is cut between arguments. */
static void add_command(struct vt_text *text, const char *arguments, size_t len)
{
	vt_text_add_char(text, '[');
	for (size_t at = 0; at < len; at += strlen(arguments + at) + 1) {
		size_t before = text->len;

		if (at)
			vt_text_add(text, ", ");
		add_json_string(text, arguments + at);
		if (text->len > LONGEST_VALUE - 1) {
			text->len = before;
			break;
		}
	}
	vt_text_add_char(text, ']');
}

static void write_command(void)
{
	/* Too much for the stack of whatever thread this is. */
	struct scratch {
		char arguments[LONGEST_COMMAND];
		char json[6 * LONGEST_COMMAND + 16];
	} *scratch = vt_sys_map_private(sizeof(*scratch));
	struct vt_text text;
	ssize_t len;

	if (!scratch)
		return;
	len = vt_sys_read_file("/proc/self/cmdline", scratch->arguments,
			       sizeof(scratch->arguments));
	if (len > 0) {
		if (vt_config()->redact)
			len = (ssize_t)strnlen(scratch->arguments, (size_t)len);
		vt_text_init(&text, scratch->json, sizeof(scratch->json));
		add_command(&text, scratch->arguments, (size_t)len);
		write_fact("command", text.bytes, text.len);
	}
	vt_sys_unmap(scratch, sizeof(*scratch));
}

static void write_environment(void)
{
	char key[64];
	struct vt_text text;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = vt_environment_get(variables[i]);

		if (!value)
			continue;
		vt_text_init(&text, key, sizeof(key));
		vt_text_add(&text, "env:");
		vt_text_add(&text, variables[i]);
		write_text(key, value);
	}
}

/* Which of several processes this is. */
static void write_rank(void)
{
	char job[VT_LAUNCHERS_MAX_JOB];
	struct vt_launcher launcher;

	vt_launchers_find(&launcher, vt_environment_get);
	if (!launcher.name)
		return;
	vt_launchers_job(job, vt_environment_get);
	write_text("launcher", launcher.name);
	write_text("rank", launcher.rank);
	if (launcher.world_size)
		write_text("world_size", launcher.world_size);
	if (launcher.local_rank)
		write_text("local_rank", launcher.local_rank);
	if (*job)
		write_text("job", job);
}

void vt_info_write_run(void)
{
	static char path[VT_OUTPUT_MAX]; /* not on a stack that may be small */

	write_text("recorder", VTRACE_VERSION);
	write_command();
	if (vt_sys_readlink("/proc/self/exe", path, sizeof(path)) > 0)
		write_text("executable", path);
	if (vt_sys_getcwd(path, sizeof(path)) > 0)
		write_text("cwd", path);
	if (vt_sys_hostname(path, sizeof(path)) == 0)
		write_text("hostname", path);
	write_rank();
	write_environment();
}
