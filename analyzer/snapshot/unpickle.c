/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/unpickle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)256 << 10)

/* Decimal numbers as protocol 0 writes them; longer ones do not fit 64 bits. */
#define MOST_LINE_BYTES ((size_t)1 << 20)

#define MOST_PROTOCOL 5

struct machine {
	struct vt_values *values;
	struct vt_stream *stream;
	struct vt_diag *diag;
	unsigned char *buffer;
	size_t capacity;
	size_t at, end;      /* of what is in the buffer */
	uint64_t passed;     /* bytes before the buffer */
	uint64_t opcode_at;
	VT_VECTOR(vt_value) stack;
	VT_VECTOR(size_t) marks; /* heights of the stack */
	VT_VECTOR(vt_value) memo;
};

typedef int (*opcode_fn)(struct machine *m, unsigned code);

static int fail(struct machine *m, const char *what)
{
	vt_diag_set(m->diag, VT_EXIT_UNREADABLE, "%s: not a snapshot: %s at byte %" PRIu64,
		    vt_stream_path(m->stream), what, m->opcode_at);
	return -1;
}

static int too_large(struct machine *m)
{
	vt_diag_set(m->diag, VT_EXIT_UNREADABLE,
		    "%s: unpacks to more than %" PRIu64 " MiB, far more than its size should",
		    vt_stream_path(m->stream), m->values->most_bytes >> 20);
	return -1;
}

/* The next `len` bytes, to be passed over by the caller; NULL with `diag` filled. */
static const unsigned char *need(struct machine *m, size_t len)
{
	if (m->at && m->end - m->at < len) {
		memmove(m->buffer, m->buffer + m->at, m->end - m->at);
		m->passed += m->at;
		m->end -= m->at;
		m->at = 0;
	}
	while (m->end < m->at + len) {
		ptrdiff_t nr;

		/* A length is believed as far as there are bytes. */
		if (m->end == m->capacity) {
			if (m->capacity > m->values->most_bytes) {
				too_large(m);
				return NULL;
			}
			m->capacity *= 2;
			m->buffer = vt_xrealloc(m->buffer, m->capacity);
		}
		nr = vt_stream_read(m->stream, m->buffer + m->end, m->capacity - m->end, m->diag);
		if (nr < 0)
			return NULL;
		if (!nr) {
			vt_diag_set(m->diag, VT_EXIT_UNREADABLE,
				    "%s: truncated, or not a snapshot: ends at byte %" PRIu64,
				    vt_stream_path(m->stream), m->passed + m->end);
			return NULL;
		}
		m->end += (size_t)nr;
	}
	return m->buffer + m->at;
}

/* `len` bytes as a little-endian number. */
static int number(struct machine *m, unsigned len, uint64_t *value)
{
	const unsigned char *bytes = need(m, len);

	if (!bytes)
		return -1;
	*value = 0;
	for (unsigned i = len; i-- > 0;)
		*value = *value << 8 | bytes[i];
	m->at += len;
	return 0;
}

static int push(struct machine *m, vt_value value)
{
	vt_vector_push(&m->stack, value);
	return 0;
}

/* How many values there are above the last mark. */
static size_t height(const struct machine *m)
{
	return m->stack.len - (m->marks.len ? m->marks.items[m->marks.len - 1] : 0);
}

static vt_value *top(struct machine *m, size_t nr)
{
	return &m->stack.items[m->stack.len - nr];
}

/* The place of the last mark, which goes. */
static int pop_mark(struct machine *m, size_t *place)
{
	if (!m->marks.len)
		return fail(m, "a missing mark");
	*place = m->marks.items[--m->marks.len];
	return 0;
}

static int op_proto(struct machine *m, unsigned code)
{
	uint64_t protocol;

	(void)code;
	if (number(m, 1, &protocol))
		return -1;
	return protocol > MOST_PROTOCOL ? fail(m, "an unknown protocol of pickle") : 0;
}

/* How long the frame is does not matter to who reads all of it. */
static int op_frame(struct machine *m, unsigned code)
{
	uint64_t len;

	(void)code;
	return number(m, 8, &len);
}

static int op_mark(struct machine *m, unsigned code)
{
	(void)code;
	vt_vector_push(&m->marks, m->stack.len);
	return 0;
}

static int op_pop(struct machine *m, unsigned code)
{
	(void)code;
	if (height(m))
		m->stack.len--;
	else if (m->marks.len)
		m->marks.len--;
	else
		return fail(m, "an empty stack");
	return 0;
}

static int op_pop_mark(struct machine *m, unsigned code)
{
	size_t place;

	(void)code;
	if (pop_mark(m, &place))
		return -1;
	m->stack.len = place;
	return 0;
}

static int op_none(struct machine *m, unsigned code)
{
	(void)code;
	return push(m, VT_VALUE_NONE);
}

static int op_bool(struct machine *m, unsigned code)
{
	return push(m, vt_values_bool(code == 0x88));
}

static int op_binint(struct machine *m, unsigned code)
{
	uint64_t value;

	if (number(m, code == 'K' ? 1 : code == 'M' ? 2 : 4, &value))
		return -1;
	return push(m, vt_values_int(m->values,
				     code == 'J' ? (int32_t)(uint32_t)value : (int64_t)value));
}

/* Two's complement of any length. */
static int op_long(struct machine *m, unsigned code)
{
	uint64_t len, value = 0;
	const unsigned char *bytes;
	int is_negative;

	if (number(m, code == 0x8a ? 1 : 4, &len))
		return -1;
	if (len > INT32_MAX)
		return fail(m, "an integer of negative length");
	bytes = need(m, (size_t)len);
	if (!bytes)
		return -1;
	is_negative = len && bytes[len - 1] & 0x80;
	m->at += (size_t)len;
	/* The ninth byte is only a sign. */
	if (len > 9 || (len == 9 && (bytes[8] || is_negative)))
		return push(m, VT_VALUE_HUGE);
	for (size_t i = 8; i-- > 0;)
		value = value << 8 | (i < len ? bytes[i] : is_negative ? 0xffu : 0u);
	return push(m, vt_values_unsigned(m->values, value));
}

static int op_binfloat(struct machine *m, unsigned code)
{
	const unsigned char *bytes = need(m, 8);
	uint64_t bits = 0;
	double value;

	(void)code;
	if (!bytes)
		return -1;
	for (unsigned i = 0; i < 8; i++)
		bits = bits << 8 | bytes[i];
	memcpy(&value, &bits, sizeof(value));
	m->at += 8;
	return push(m, vt_values_float(m->values, value));
}

/* A line without its end, as a copy with NUL; free().  NULL with `diag` filled. */
static char *line(struct machine *m)
{
	size_t len = 0;
	char *text;

	for (;;) {
		const unsigned char *bytes = need(m, len + 1);

		if (!bytes)
			return NULL;
		if (bytes[len] == '\n')
			break;
		if (++len > MOST_LINE_BYTES) {
			fail(m, "a line without an end");
			return NULL;
		}
	}
	text = vt_xmalloc(len + 1);
	memcpy(text, m->buffer + m->at, len);
	text[len] = '\0';
	m->at += len + 1;
	return text;
}

static int op_decimal(struct machine *m, unsigned code)
{
	char *text = line(m), *end;
	int rc;

	if (!text)
		return -1;
	if (code == 'I' && (!strcmp(text, "00") || !strcmp(text, "01"))) {
		rc = push(m, vt_values_bool(text[1] == '1'));
	} else if (code == 'F') {
		double value = strtod(text, &end);

		rc = *end || end == text ? fail(m, "a malformed number")
					 : push(m, vt_values_float(m->values, value));
	} else {
		long long value;

		errno = 0;
		value = strtoll(text, &end, 10);
		end += *end == 'L';
		if (*end || end == text)
			rc = fail(m, "a malformed number");
		else if (errno)
			rc = push(m, VT_VALUE_HUGE);
		else
			rc = push(m, vt_values_int(m->values, value));
	}
	free(text);
	return rc;
}

/* Texts of protocol 0, with their escapes as they are: a snapshot needs none. */
static int op_text_line(struct machine *m, unsigned code)
{
	char *text = line(m);
	size_t len, from = 0;

	if (!text)
		return -1;
	len = strlen(text);
	if (code == 'S' && len >= 2 && (text[0] == '\'' || text[0] == '"') &&
	    text[len - 1] == text[0]) {
		from = 1;
		len -= 2;
	}
	push(m, vt_values_text(m->values, text + from, len));
	free(text);
	return 0;
}

static int op_text(struct machine *m, unsigned code)
{
	uint64_t len;
	const unsigned char *bytes;

	if (number(m, code == 0x8c || code == 'U' ? 1 : code == 0x8d ? 8 : 4, &len))
		return -1;
	if (len > INT32_MAX)
		return fail(m, "a text of 2 GiB or more");
	bytes = need(m, (size_t)len);
	if (!bytes)
		return -1;
	m->at += (size_t)len;
	return push(m, vt_values_text(m->values, (const char *)bytes, (size_t)len));
}

static int op_empty(struct machine *m, unsigned code)
{
	return push(m, code == '}' ? vt_values_dict(m->values) : vt_values_list(m->values));
}

/* The `nr` topmost values become one list or tuple. */
static int collect(struct machine *m, size_t nr)
{
	vt_value list = vt_values_list(m->values);

	if (m->values->is_full)
		return 0;
	vt_values_append(m->values, list, top(m, nr), nr);
	m->stack.len -= nr;
	return push(m, list);
}

static int op_tuple(struct machine *m, unsigned code)
{
	size_t nr = code - 0x84, place;

	if (code == 't' || code == 'l') {
		if (pop_mark(m, &place))
			return -1;
		nr = m->stack.len - place;
	}
	return height(m) < nr ? fail(m, "a missing value") : collect(m, nr);
}

static int op_dict(struct machine *m, unsigned code)
{
	vt_value dict = vt_values_dict(m->values);
	size_t place, nr;

	(void)code;
	if (pop_mark(m, &place))
		return -1;
	nr = m->stack.len - place;
	if (nr % 2)
		return fail(m, "a key without a value");
	if (m->values->is_full)
		return 0;
	vt_values_set(m->values, dict, top(m, nr), nr / 2);
	m->stack.len = place;
	return push(m, dict);
}

static int op_append(struct machine *m, unsigned code)
{
	size_t place = m->stack.len - 1, nr = 1;

	if (code == 'e') {
		if (pop_mark(m, &place))
			return -1;
		nr = m->stack.len - place;
	}
	if (height(m) < nr + 1)
		return fail(m, "a missing value");
	if (vt_value_type(*top(m, nr + 1)) != VT_VALUE_LIST)
		return fail(m, "items for a value that is not a list");
	vt_values_append(m->values, *top(m, nr + 1), top(m, nr), nr);
	m->stack.len -= nr;
	return 0;
}

static int op_setitem(struct machine *m, unsigned code)
{
	size_t place, nr = 2;

	if (code == 'u') {
		if (pop_mark(m, &place))
			return -1;
		nr = m->stack.len - place;
	}
	if (height(m) < nr + 1)
		return fail(m, "a missing value");
	if (nr % 2)
		return fail(m, "a key without a value");
	if (vt_value_type(*top(m, nr + 1)) != VT_VALUE_DICT)
		return fail(m, "items for a value that is not a dict");
	vt_values_set(m->values, *top(m, nr + 1), top(m, nr), nr / 2);
	m->stack.len -= nr;
	return 0;
}

/* Indices are counted by who writes: one beyond the bytes so far would only take memory. */
static int remember(struct machine *m, uint64_t index)
{
	if (!height(m))
		return fail(m, "a memo entry without a value");
	if (index > m->passed + m->at)
		return fail(m, "an impossible memo index");
	while (m->memo.len <= index)
		vt_vector_push(&m->memo, VT_VALUE_UNSET);
	m->memo.items[index] = *top(m, 1);
	return 0;
}

static int recall(struct machine *m, uint64_t index)
{
	if (index >= m->memo.len || m->memo.items[index] == VT_VALUE_UNSET)
		return fail(m, "a dangling memo reference");
	return push(m, m->memo.items[index]);
}

static int op_memo(struct machine *m, unsigned code)
{
	uint64_t index;

	if (code == 0x94)
		return remember(m, m->memo.len);
	if (number(m, code == 'q' || code == 'h' ? 1 : 4, &index))
		return -1;
	return code == 'q' || code == 'r' ? remember(m, index) : recall(m, index);
}

static int op_memo_line(struct machine *m, unsigned code)
{
	char *text = line(m), *end;
	uint64_t index;

	if (!text)
		return -1;
	index = strtoull(text, &end, 10);
	if (*end || end == text)
		index = UINT64_MAX;
	free(text);
	return code == 'p' ? remember(m, index) : recall(m, index);
}

/* Every opcode of protocols 0 to 5: those without a function are more than data. */
static const struct opcode {
	const char *name;
	opcode_fn run;
} opcodes[256] = {
	['('] = { "MARK", op_mark },
	['.'] = { "STOP", NULL },
	['0'] = { "POP", op_pop },
	['1'] = { "POP_MARK", op_pop_mark },
	['2'] = { "DUP", NULL },
	['B'] = { "BINBYTES", NULL },
	['C'] = { "SHORT_BINBYTES", NULL },
	['F'] = { "FLOAT", op_decimal },
	['G'] = { "BINFLOAT", op_binfloat },
	['I'] = { "INT", op_decimal },
	['J'] = { "BININT", op_binint },
	['K'] = { "BININT1", op_binint },
	['L'] = { "LONG", op_decimal },
	['M'] = { "BININT2", op_binint },
	['N'] = { "NONE", op_none },
	['P'] = { "PERSID", NULL },
	['Q'] = { "BINPERSID", NULL },
	['R'] = { "REDUCE", NULL },
	['S'] = { "STRING", op_text_line },
	['T'] = { "BINSTRING", op_text },
	['U'] = { "SHORT_BINSTRING", op_text },
	['V'] = { "UNICODE", op_text_line },
	['X'] = { "BINUNICODE", op_text },
	['a'] = { "APPEND", op_append },
	['b'] = { "BUILD", NULL },
	['c'] = { "GLOBAL", NULL },
	['d'] = { "DICT", op_dict },
	['e'] = { "APPENDS", op_append },
	['g'] = { "GET", op_memo_line },
	['h'] = { "BINGET", op_memo },
	['i'] = { "INST", NULL },
	['j'] = { "LONG_BINGET", op_memo },
	['l'] = { "LIST", op_tuple },
	['o'] = { "OBJ", NULL },
	['p'] = { "PUT", op_memo_line },
	['q'] = { "BINPUT", op_memo },
	['r'] = { "LONG_BINPUT", op_memo },
	['s'] = { "SETITEM", op_setitem },
	['t'] = { "TUPLE", op_tuple },
	['u'] = { "SETITEMS", op_setitem },
	['}'] = { "EMPTY_DICT", op_empty },
	[']'] = { "EMPTY_LIST", op_empty },
	[')'] = { "EMPTY_TUPLE", op_empty },
	[0x80] = { "PROTO", op_proto },
	[0x81] = { "NEWOBJ", NULL },
	[0x82] = { "EXT1", NULL },
	[0x83] = { "EXT2", NULL },
	[0x84] = { "EXT4", NULL },
	[0x85] = { "TUPLE1", op_tuple },
	[0x86] = { "TUPLE2", op_tuple },
	[0x87] = { "TUPLE3", op_tuple },
	[0x88] = { "NEWTRUE", op_bool },
	[0x89] = { "NEWFALSE", op_bool },
	[0x8a] = { "LONG1", op_long },
	[0x8b] = { "LONG4", op_long },
	[0x8c] = { "SHORT_BINUNICODE", op_text },
	[0x8d] = { "BINUNICODE8", op_text },
	[0x8e] = { "BINBYTES8", NULL },
	[0x8f] = { "EMPTY_SET", NULL },
	[0x90] = { "ADDITEMS", NULL },
	[0x91] = { "FROZENSET", NULL },
	[0x92] = { "NEWOBJ_EX", NULL },
	[0x93] = { "STACK_GLOBAL", NULL },
	[0x94] = { "MEMOIZE", op_memo },
	[0x95] = { "FRAME", op_frame },
	[0x96] = { "BYTEARRAY8", NULL },
	[0x97] = { "NEXT_BUFFER", NULL },
	[0x98] = { "READONLY_BUFFER", NULL },
};

static int refuse(struct machine *m, unsigned code)
{
	const char *name = opcodes[code].name;

	if (!m->opcode_at || !name)
		vt_diag_set(m->diag, VT_EXIT_UNREADABLE,
			    "%s: neither a recording nor a PyTorch snapshot (byte 0x%02x at"
			    " %" PRIu64 " is not a pickle opcode)",
			    vt_stream_path(m->stream), code, m->opcode_at);
	else
		vt_diag_set(m->diag, VT_EXIT_UNREADABLE,
			    "%s: not a snapshot: pickle opcode %s at byte %" PRIu64
			    " is not data and is not executed",
			    vt_stream_path(m->stream), name, m->opcode_at);
	return -1;
}

static int is_full(const struct machine *m)
{
	uint64_t held = m->stack.len + m->memo.len + m->marks.len;

	return m->values->is_full ||
	       held * sizeof(vt_value) > m->values->most_bytes - m->values->used_bytes;
}

/* Returns 1 after STOP, 0 before, -1 with `diag` filled. */
static int step(struct machine *m)
{
	const unsigned char *bytes;
	unsigned code;

	m->opcode_at = m->passed + m->at;
	bytes = m->at < m->end ? m->buffer + m->at : need(m, 1);
	if (!bytes)
		return -1;
	code = *bytes;
	m->at++;
	if (code == '.')
		return 1;
	if (!opcodes[code].run)
		return refuse(m, code);
	if (opcodes[code].run(m, code))
		return -1;
	return is_full(m) ? too_large(m) : 0;
}

int vt_unpickle(struct vt_values *values, struct vt_stream *stream, vt_value *root,
		   vt_unpickle_progress_fn progress, void *context, struct vt_diag *diag)
{
	struct machine m = { .values = values, .stream = stream, .diag = diag,
			     .buffer = vt_xmalloc(BUFFER_BYTES), .capacity = BUFFER_BYTES };
	uint64_t shown = 0;
	int rc;

	while (!(rc = step(&m)))
		if (progress && m.passed != shown)
			progress(context, shown = m.passed, vt_stream_file_bytes(stream));
	if (rc > 0 && (m.stack.len != 1 || m.marks.len))
		rc = fail(&m, "a stack that does not hold exactly one value at STOP");
	if (rc > 0)
		*root = m.stack.items[0];
	vt_vector_release(&m.stack);
	vt_vector_release(&m.marks);
	vt_vector_release(&m.memo);
	free(m.buffer);
	return rc < 0 ? -1 : 0;
}
