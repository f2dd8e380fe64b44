/* SPDX-License-Identifier: MIT */
/*
 * Damaged input of every kind that somebody else may have written: read, or refused in one line
 * with exit code 3.  VT_FUZZ_PARSER names one of them, VT_FUZZ_ROUNDS is for more than the quick
 * rounds, VT_FUZZ_SEED for others.  A round is one damaged input, read once.  Snapshots:
 * test_snapshot_fuzz.c.
 */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/attribution/rules/rules.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/util.h"
#include "analyzer/check/history.h"
#include "analyzer/check/toml_file.h"
#include "analyzer/database/db_connection.h"
#include "analyzer/import/import.h"
#include "analyzer/model/model.h"
#include "analyzer/planner/config.h"
#include "analyzer/planner/sheet.h"
#include "analyzer/planner/tensor_file.h"
#include "analyzer/planner/term_rules.h"
#include "common/card_profile.h"
#include "tests/lib/fuzzed_journal.h"
#include "tests/lib/guarded.h"
#include "tests/lib/planned.h"
#include "tests/lib/sqlite_memory.h"
#include "tests/lib/sqlite_statements.h"

#define QUICK_ROUNDS 60
#define DATA_BYTES   1632

struct input {
	struct vt_buffer good; /* what is damaged */
	struct vt_buffer damaged;
	uint64_t dice;         /* another for each round */
	struct vt_db *db;      /* a new one in memory, where the parser fills one */
};

struct parser {
	const char *name;
	void (*make)(struct input *input);
	/* Words that mean something to it, in the place of others. */
	const char *const *words;
	/* `bytes` end where their page does.  0, or -1 with `diag` filled. */
	int (*read)(struct input *input, const char *bytes, size_t len, struct vt_diag *diag);
	int is_copied; /* before it is read: its bytes may end anywhere */
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static uint64_t below(uint64_t *seed, uint64_t nr)
{
	return next(seed) % nr;
}

static void put(struct vt_buffer *out, uint64_t value, unsigned len)
{
	vt_buffer_append(out, &value, len);
}

static void put_text(struct vt_buffer *out, const char *text)
{
	put(out, strlen(text), 8);
	vt_buffer_append(out, text, strlen(text));
}

/* For those that read a file themselves; open all the time, each round has other bytes in it. */
#define FILE_NAME "fuzzed"

static void write_file(const char *bytes, size_t len)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pwrite(fd, bytes, len, 0), (ssize_t)len);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
}

static void take_file(struct input *input, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char page[4096];
	ssize_t len;

	assert_true(fd >= 0);
	while ((len = read(fd, page, sizeof(page))) > 0)
		vt_buffer_append(&input->good, page, (size_t)len);
	close(fd);
	unlink(path);
}

static void make_text(struct input *input, const char *text)
{
	vt_buffer_append(&input->good, text, strlen(text));
}

/* --- what there is ---------------------------------------------------------------------------- */

/* The last lines have the longest patterns; all of it would be one file a millisecond. */
static void make_rules(struct input *input)
{
	static const char some[] =
		"[stage forward]\nscope = forward*\nframe = *.py:forward\n"
		"[kind attention]\nmodule = *Attention*, !*Norm\nop = *attention*\n"
		"[loss]\nnode = NllLoss*, LogSoftmax*\n[product]\nop = addmm, mm\n"
		"[token_model]\nmodule = *ForCausalLM\n[plumbing]\nop = empty*, aten::empty\n"
		"[rule weights]\nrole = parameter\nowner = weights\nknown_by = names\n"
		"leaf = {name}\nreason = a parameter\n"
		"[rule big]\nnot_stage = forward\nowner = activations/{kind}\nknown_by = "
		"frames\nreason = x\n";
	const char *at = strstr(vt_embedded_rules, "\n[rule ");

	make_text(input, some);
	for (unsigned i = 0; at && i < 20; i++) {
		const char *end = strstr(at + 1, "\n[rule ");

		vt_buffer_append(&input->good, at, end ? (size_t)(end - at) : strlen(at));
		at = end;
	}
}

static int read_rules(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_rules rules = { 0 };
	int rc = vt_rules_parse(&rules, "x", bytes, len, diag);

	(void)input;
	vt_rules_release(&rules);
	return rc;
}

static void make_toml(struct input *input)
{
	make_text(input,
		  "# limits\nbaseline = \"base.db\"\n[total]\ndevice_used = \"10 GiB\"\n"
		  "allocated = '+5%'\n[owners]\n\"activations/*\" = \"2GiB\"\nweights = 17\n"
		  "[steps]\n1 = \"1e3 MB\"\ngrowth = 0x1f\npeak = 1_000\n[findings]\n"
		  "absent = [\"equal-buffers\", \"a\\u00e9\\n\", '''x''']\n"
		  "[recording]\nlost = 0 \nended = [ ]\nwhen = 1979-05-27T07:32:00Z\n"
		  "a.b.c = { d = -1.5e3, e = inf, f = true }\n[[t]]\nx = \"\"\"\ny\\\n z\"\"\"\n");
}

static int read_toml(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_toml_file file = { 0 };
	int rc;

	(void)input;
	rc = vt_toml_file_parse(&file, "x", bytes, len, diag);
	vt_toml_file_release(&file);
	return rc;
}

static void make_json(struct input *input)
{
	make_text(input,
		  "{\"model_type\":\"qwen3_next\",\"architectures\":[\"Qwen3ForCausalLM\"],"
		  "\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4,"
		  "\"vocab_size\":100,\"num_experts\":8,\"num_experts_per_tok\":2,"
		  "\"intermediate_size\":128,"
		  "\"mlp_only_layers\":[0],\"linear_num_value_heads\":4,\"tie_word_embeddings\":"
		  "true,\"rope_scaling\":{\"factor\":4.0,\"type\":\"yarn\"},\"torch_dtype\":"
		  "\"bfloat16\",\"text_config\":{\"hidden_size\":32},\"vision_config\":{"
		  "\"image_size\":224,\"patch_size\":14,\"hidden_size\":32,\"depth\":2},"
		  "\"layer_types\":[\"linear_attention\",\"linear_attention\","
		  "\"full_attention\",\"x\\u00e9\\\"\"],\"quantization_config\":{\"bits\":4,"
		  "\"quant_method\":\"gptq\",\"group_size\":128}}");
}

static int read_json(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_architecture model = { 0 };
	int rc = vt_config_read(&model, bytes, len, "x", diag);

	(void)input;
	vt_architecture_release(&model);
	return rc;
}

static void make_safetensors(struct input *input)
{
	static const char good[] =
		"{\"model.embed_tokens.weight\":{\"dtype\":\"BF16\",\"shape\":[100,8],"
		"\"data_offsets\":[0,1600]},\"model.layers.0.mlp.experts.3.w\\u0031.weight\":{"
		"\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[1600,1632]},"
		"\"__metadata__\":{\"format\":\"pt\",\"x\":\"[1,{},null,-1e3]\"}}";

	put(&input->good, sizeof(good) - 1, 8);
	make_text(input, good);
}

static int read_safetensors(struct input *input, const char *bytes, size_t len,
			    struct vt_diag *diag)
{
	struct vt_architecture model = { 0 };
	int rc = vt_safetensors_read(&model, bytes, len, len + DATA_BYTES, "x", diag);

	(void)input;
	vt_architecture_release(&model);
	return rc;
}

static void put_pair(struct vt_buffer *out, const char *key, uint32_t value)
{
	put_text(out, key);
	put(out, 4, 4); /* u32 */
	put(out, value, 4);
}

static void put_tensor(struct vt_buffer *out, const char *name, uint64_t rows, uint32_t type)
{
	put_text(out, name);
	put(out, 2, 4);
	put(out, 256, 8);
	put(out, rows, 8);
	put(out, type, 4);
	put(out, 0, 8);
}

static void make_gguf(struct input *input)
{
	struct vt_buffer *out = &input->good;

	vt_buffer_append(out, "GGUF", 4);
	put(out, 3, 4);
	put(out, 3, 8);
	put(out, 7, 8);
	put_text(out, "general.architecture");
	put(out, 8, 4);
	put_text(out, "llama");
	put_text(out, "tokenizer.ggml.tokens");
	put(out, 9, 4);
	put(out, 8, 4);
	put(out, 2, 8);
	put_text(out, "<s>");
	put_text(out, "hello");
	put_pair(out, "llama.block_count", 2);
	put_pair(out, "llama.embedding_length", 256);
	put_pair(out, "llama.feed_forward_length", 512);
	put_pair(out, "llama.attention.head_count", 4);
	put_pair(out, "llama.expert_count", 8);
	put_tensor(out, "token_embd.weight", 1000, 14);
	put_tensor(out, "blk.0.attn_q.weight", 256, 12);
	put_tensor(out, "blk.1.ffn_gate_exps.weight", 512, 30);
}

static int read_gguf(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_architecture model = { 0 };
	int rc = vt_gguf_read(&model, bytes, len, "x", diag);

	(void)input;
	vt_architecture_release(&model);
	return rc;
}

/* One built-in file, and what it has none of. */
static void make_terms(struct input *input)
{
	const struct vt_embedded_file *file = vt_embedded_terms;

	make_text(input,
		  "[value deep]\nis = {deeper}+1\n[value deeper]\nnumber = 2*{batch}\n"
		  "[term a]\ngiven = seq lora\nnot_where = {deep} >= L\nowner = x\n"
		  "why = y\ntokens = Te\nbytes = {deep}*h\nrecomputed = {deep}\n"
		  "[include]\nterms = default\n");
	while (file->name && strcmp(file->name, "mlp.ini") != 0)
		file++;
	make_text(input, file->text);
}

static int read_terms(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_term_rules rules;
	int rc = vt_term_rules_parse(&rules, "x", bytes, len, diag);

	(void)input;
	vt_term_rules_release(&rules);
	return rc;
}

static void make_sheet(struct input *input)
{
	make_text(input, "[symbols]\nP = 72e3\nb = max(2, 3)\ns = ceil(P/b)\nL = 2*(b+s)-1\n"
			 "[rows]\nweights = P*2\nlogits = (b*s+1)*min(4,2)/7\n# comment\n"
			 "activations/mlp = L*b*s*floor(1.5)\n");
}

static int read_sheet(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	struct vt_sheet sheet = { 0 };
	char *text = vt_xmalloc(len + 1);
	int rc;

	(void)input;
	memcpy(text, bytes, len);
	text[len] = '\0';
	rc = vt_sheet_compute(&sheet, "x", text, NULL, 0, diag);
	vt_sheet_release(&sheet);
	free(text);
	return rc;
}

static void make_card(struct input *input)
{
	make_text(input, "# my card\n[own]\ndevice = Own card\nsource = a vendor, \"page\"\n"
			 "total_bytes = 24.5GiB\nusable_bytes = 24e9\ncapability = 86\n"
			 "context_bytes = 410 MiB\nnr_sms = 84\nclock_khz=1695000\n"
			 "driver_version = 13.0\nshared_per_sm_bytes = 102400\n");
}

/* The file, and its first line as what stands behind the card's name. */
static int read_card(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	char *text = vt_xstrndup(bytes, len), *line;
	struct vt_card_profile card;
	struct vt_card_error error;
	int rc = vt_card_profile_read(&card, text, NULL, &error);

	(void)input;
	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s", error.text);
	line = vt_xstrndup(text, strcspn(text, "\n"));
	if (!rc && vt_card_profile_change(&card, line, &error))
		assert_true(error.text[0]);
	free(line);
	free(text);
	return rc;
}

/* --- journals and databases ------------------------------------------------------------------- */

static void make_journal(struct input *input)
{
	struct builder b;

	fuzzed_journal(&b);
	vt_buffer_append(&input->good, builder_slots(&b), b.nr_slots * VT_SLOT_BYTES);
	builder_release(&b);
	assert_int_equal(vt_db_open_memory(&input->db, "x", NULL), 0);
	sqlite_statements_keep(input->db->raw);
}

/* Damage that a checksum finds is read no further: every other record gets a right one. */
static void seal(unsigned char *slots, uint64_t nr_slots)
{
	for (uint64_t slot = 0; slot < nr_slots; slot++) {
		struct vt_record *record = (void *)(slots + slot * VT_SLOT_BYTES);

		if (record->commit != vt_record_commit(slot) || !record->nr_slots ||
		    record->nr_slots > nr_slots - slot)
			continue;
		record->sum = vt_record_sum(record);
		slot += record->nr_slots - 1;
	}
}

static void empty_tables(struct vt_db *db)
{
	static const char *const tables[] = {
		"run", "device", "string", "module", "native_frame", "native_node", "native_stack",
		"python_code", "python_line_table", "python_frame", "python_node", "python_stack",
		"allocation_row", "allocation_made", "allocation_freed", "allocation_callers",
		"allocation_base", "allocator_reserved", "allocation_parent",
		"event", "out_of_memory", "mark", "probe", "tensor", "torch_module", "operator",
		"operator_tensor", "python_source", "peak", "device_sample",
	};

	assert_int_equal(vt_db_begin(db), 0);
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "DELETE FROM %s", tables[i]);
		assert_int_equal(vt_db_exec(db, sql), 0);
	}
	assert_int_equal(vt_db_commit(db), 0);
}

static int load_model(struct vt_db *db, struct vt_diag *diag)
{
	struct vt_model model = { 0 };
	int rc = vt_model_load(&model, db, diag);

	vt_model_release(&model);
	return rc;
}

static int read_journal(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	uint64_t nr_slots = len / VT_SLOT_BYTES, most_records = input->dice % 4 ? 512 : 64;
	struct vt_journal_header header = { .pid = 1, .head_slots = nr_slots };
	unsigned char *slots = vt_xmalloc(nr_slots * VT_SLOT_BYTES + 1);
	struct vt_import *im = NULL;
	int64_t taken = -1;

	memcpy(slots, bytes, nr_slots * VT_SLOT_BYTES);
	if (input->dice % 8)
		seal(slots, nr_slots);
	if (!vt_import_open(&im, input->db, &header, diag)) {
		while ((taken = vt_import_batch(im, &header, slots, nr_slots, 1, most_records,
						diag)) > 0)
			;
		if (!taken)
			assert_int_equal(vt_import_finish(im, &header, 0, diag), 0);
	}
	vt_import_close(im);
	free(slots);
	if (!taken)
		taken = load_model(input->db, diag);
	empty_tables(input->db);
	return taken < 0 ? -1 : 0;
}

static void make_database(struct input *input)
{
	struct vt_db *db;
	struct builder b;

	fuzzed_journal(&b);
	db = unit_import(&b, "good.db");
	assert_int_equal(vt_db_exec(db,
				    "INSERT INTO device_sample VALUES (1000, 0, 4096, 512),"
				    " (2000, 0, 8192, NULL)"),
			 0);
	/* As a run that has ended leaves it. */
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	builder_release(&b);
	take_file(input, "good.db");
}

static int read_database(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	uint64_t nr_live = sqlite_memory_live();
	struct vt_db *db = NULL;
	int rc;

	(void)input;
	write_file(bytes, len);
	rc = vt_db_open(&db, FILE_NAME, VT_DB_READ, diag);
	if (!rc)
		rc = load_model(db, diag);
	vt_db_close(db);
	assert_int_equal(sqlite_memory_live(), nr_live);
	return rc;
}

static void make_history(struct input *input)
{
	static const char sql[] =
		"CREATE TABLE run (id INTEGER PRIMARY KEY, time_s INTEGER NOT NULL, revision TEXT "
		"NOT NULL);"
		"CREATE TABLE figure (run INTEGER NOT NULL, name TEXT NOT NULL, unit INTEGER NOT "
		"NULL, value INTEGER NOT NULL, PRIMARY KEY (name, run)) WITHOUT ROWID;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
		"INSERT INTO run SELECT i, i * 86400, 'commit ' || i FROM n;"
		"INSERT INTO figure SELECT id, 'total.allocated', 0, id << (id / 20) FROM run;"
		"INSERT INTO figure SELECT id, 'owners.weights', 1, id FROM run;";
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open("history.db", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	take_file(input, "history.db");
}

static int read_history(struct input *input, const char *bytes, size_t len, struct vt_diag *diag)
{
	uint64_t nr_live = sqlite_memory_live();
	struct vt_history history;
	int rc;

	(void)input;
	write_file(bytes, len);
	rc = vt_history_read(&history, FILE_NAME, diag);
	for (uint32_t i = 0; !rc && i < history.nr_series; i++)
		for (size_t k = 0; k < history.series[i].steps.len; k++)
			free(vt_history_sentence(&history, &history.series[i],
						 &history.series[i].steps.items[k]));
	vt_history_release(&history);
	assert_int_equal(sqlite_memory_live(), nr_live);
	return rc;
}

/* --- damage ----------------------------------------------------------------------------------- */

static const char *const json_words[] = { "{",    "}",  "[",     "]",
					  ":",    ",",  "\"",    "\\u00e9",
					  "null", "-1", "1e308", "9223372036854775808",
					  "true", NULL };
static const char *const rule_words[] = { "[rule x]", "[kind y]", "\n",     "=",      "*",
					  "!",        ",",        "{kind}", "{name}", "not_",
					  "default",  "1 MiB",    "#",      "[",      NULL };
static const char *const toml_words[] = { "[",           "]",        "[[", "]]",  "=",
					  "\"\"\"",      "'''",      "\n", "{",   "}",
					  ".",           ",",        "0x", "inf", "1979-05-27",
					  "\\U0010ffff", "\xc3\xa9", NULL };
static const char *const term_words[] = {
	"[term a]",    "[value a]", "[include]",   "\n",           "{",      "}",     "{a}",
	"{mlp_bytes}", "where",     "not_",        ">=",           "yes",    "*",     "-",
	"given",       "stages",    "all !load",   "played",       "staged", "owner", "why",
	"bytes",       "layers",    "formula = 1", "number = {a}", "is = ",  NULL,
};
static const char *const sheet_words[] = { "(", ")", "*", "/", "+", "-", "max(", "ceil(", "min(",
					   ",", "1e308", "=", "[rows]",
					   "[symbols]", "\n", "0", NULL };
static const char *const card_words[] = { "[own]",   "[",       "]",    "=",   "\n", "#",
					  ".",       "e999",    "GiB",  ",",   "-",  "0x",
					  "memory=", "count=9", "86",   "\t",  NULL };
static const char *const no_words[] = { "\xff\xff\xff\xff\xff\xff\xff\xff",
					"\xff\xff\xff\x7f", "\x80", NULL };

static const struct parser parsers[] = {
	{ "rules", make_rules, rule_words, read_rules, 0 },
	{ "toml", make_toml, toml_words, read_toml, 0 },
	{ "json", make_json, json_words, read_json, 0 },
	{ "safetensors", make_safetensors, json_words, read_safetensors, 0 },
	{ "gguf", make_gguf, no_words, read_gguf, 0 },
	{ "terms", make_terms, term_words, read_terms, 0 },
	{ "sheets", make_sheet, sheet_words, read_sheet, 0 },
	{ "cards", make_card, card_words, read_card, 0 },
	{ "journal", make_journal, no_words, read_journal, 1 },
	{ "database", make_database, no_words, read_database, 1 },
	{ "history", make_history, no_words, read_history, 1 },
};

static void overwrite(struct vt_buffer *bytes, size_t at, const char *word)
{
	for (; *word && at < bytes->len; at++)
		bytes->data[at] = *word++;
}

static void insert(struct vt_buffer *bytes, size_t at, const char *word)
{
	size_t len = strlen(word);

	vt_buffer_append(bytes, word, len);
	memmove(bytes->data + at + len, bytes->data + at, bytes->len - len - at);
	memcpy(bytes->data + at, word, len);
}

/* Most of a file of pages is zeros that nobody reads. */
static size_t place(const struct vt_buffer *bytes, int is_sparse, uint64_t *seed)
{
	size_t at = (size_t)below(seed, bytes->len);

	for (unsigned i = 0; is_sparse && i < 4 && !bytes->data[at]; i++)
		at = (size_t)below(seed, bytes->len);
	return at;
}

static void damage_once(struct vt_buffer *bytes, const struct parser *parser, uint64_t *seed)
{
	const char *const *words = parser->words;
	size_t at = place(bytes, parser->is_copied, seed), nr = 0;
	size_t len = (size_t)below(seed, bytes->len - at < 64 ? bytes->len - at : 64);
	size_t to = (size_t)below(seed, bytes->len - len + 1);
	uint64_t absurd = below(seed, 2) ? (uint64_t)1 << below(seed, 64) : ~(uint64_t)0;

	while (words[nr])
		nr++;
	switch (below(seed, 8)) {
	case 0:
		bytes->data[at] = (char)next(seed);
		break;
	case 1:
		bytes->data[at] = (char)(bytes->data[at] ^ (1 << below(seed, 8)));
		break;
	case 2:
		overwrite(bytes, at, words[below(seed, nr)]);
		break;
	case 3:
		insert(bytes, at, words[below(seed, nr)]);
		break;
	case 4: /* A part goes. */
		memmove(bytes->data + at, bytes->data + at + len, bytes->len - at - len);
		bytes->len -= len;
		break;
	case 5: /* A part is somewhere else, too. */
		memmove(bytes->data + to, bytes->data + at, len);
		break;
	case 6:
		len = bytes->len - at < 8 ? bytes->len - at : (size_t)1 << below(seed, 4);
		memcpy(bytes->data + at, &absurd, len);
		break;
	default:
		if (!below(seed, 16))
			bytes->len = at;
	}
}

static void play(const struct parser *parser, struct input *input, uint64_t *seed,
		 uint32_t *nr_read)
{
	struct vt_buffer *bytes = &input->damaged;
	struct vt_diag diag = { 0 };
	char *exact;

	bytes->len = 0;
	vt_buffer_append(bytes, input->good.data, input->good.len);
	for (uint64_t i = 1 + below(seed, 6); i > 0 && bytes->len; i--)
		damage_once(bytes, parser, seed);
	input->dice = *seed >> 40;
	exact = parser->is_copied ? bytes->data : guarded_copy(bytes->data, bytes->len);
	if (!parser->read(input, exact, bytes->len, &diag)) {
		(*nr_read)++;
	} else {
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
		assert_true(diag.text[0] && !strchr(diag.text, '\n'));
	}
	if (!parser->is_copied)
		guarded_free(exact, bytes->len);
}

/* What repeats them.  A round begins where the seed of the one before ended. */
static void print_rounds(const struct parser *parser, uint32_t nr, uint32_t nr_read, uint64_t first,
			 uint64_t seed)
{
	print_message("%s: %u rounds from seed %llu on, %u of them read; goes on with seed %llu\n",
		      parser->name, nr, (unsigned long long)first, nr_read,
		      (unsigned long long)seed);
}

static void play_rounds(const struct parser *parser, struct input *input, uint64_t first,
			uint32_t nr_rounds)
{
	uint32_t nr_read = 0;
	uint64_t seed = first;

	for (uint32_t round = 0; round < nr_rounds; round++) {
		play(parser, input, &seed, &nr_read);
		if (round % 10000 == 9999 && round + 1 < nr_rounds)
			print_rounds(parser, round + 1, nr_read, first, seed);
	}
	print_rounds(parser, nr_rounds, nr_read, first, seed);
	/* Both happen, or nothing was tried; a journal is refused once in two hundred rounds. */
	assert_true(nr_read > 0);
	assert_true(nr_read < nr_rounds || (parser->read == read_journal && nr_rounds < 2000));
}

static void every_input_is_read_or_refused(void **state)
{
	const char *only = getenv("VT_FUZZ_PARSER"), *text = getenv("VT_FUZZ_SEED");
	uint32_t nr_rounds = (uint32_t)planned_rounds(QUICK_ROUNDS);

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(parsers); i++) {
		struct input input = { 0 };
		struct vt_diag diag = { 0 };

		if (only && strcmp(only, parsers[i].name) != 0)
			continue;
		vt_buffer_init(&input.good);
		vt_buffer_init(&input.damaged);
		parsers[i].make(&input);
		if (parsers[i].read(&input, input.good.data, input.good.len, &diag))
			fail_msg("%s: %s", parsers[i].name, diag.text);
		play_rounds(&parsers[i], &input, text ? strtoull(text, NULL, 10) : 1, nr_rounds);
		vt_buffer_release(&input.good);
		vt_buffer_release(&input.damaged);
		sqlite_statements_keep(NULL);
		vt_db_close(input.db);
	}
}

/* In memory: on a disk the files would take longer than what reads them. */
static int enter(void **state)
{
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 0);
	/* A sanitizer that ends the program writes nothing that is still in a buffer. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	return unit_enter(state);
}

/*
 * What a round frees stays poisoned to its end, and a report comes without the stacks of malloc()
 * and free(): taking these is half of the time.  ASAN_OPTIONS=malloc_context_size=30 has them.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=0:quarantine_size_mb=8:thread_local_quarantine_size_kb=256";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_input_is_read_or_refused),
	};

	sqlite_memory_set_up();
	return cmocka_run_group_tests(tests, enter, unit_leave);
}
