/* SPDX-License-Identifier: MIT */
#include "analyzer/model/generated_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/map.h"

#define ARGUMENTS_MAX 256
#define COMMENT	      "Original ATen: ["

/* What a kernel does with an argument, by the name that its head gives it. */
enum role { READ = 1, WRITTEN = 2 };

struct head {
	uint32_t nr;
	uint8_t roles[ARGUMENTS_MAX]; /* bits of enum role; 0: a number */
};

struct reading {
	struct vt_generated_code *code;
	VT_VECTOR(struct head) heads;
	struct vt_map head_of;	 /* name of a kernel -> index */
	struct vt_map memory_of; /* name of a buffer -> index */
	const char *operators;	 /* of the next kernel, in the text; NULL: none said */
	size_t operators_len;
	uint32_t line;
};

/* A piece of the text. */
struct word {
	const char *at;
	size_t len;
};

static struct vt_key key_of(struct word word)
{
	return vt_map_text_key(word.at, word.len);
}

static struct word name_at(const char *at)
{
	struct word word = { at, 0 };

	while (isalnum((unsigned char)at[word.len]) || at[word.len] == '_')
		word.len++;
	return word;
}

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "in_ptr0", "out_ptr1", "in_out_ptr0"; templates have arg_A and the like. */
static uint8_t role_of(struct word name)
{
	if (name.len >= 10 && begins(name.at, "in_out_ptr"))
		return READ | WRITTEN;
	if (name.len >= 6 && begins(name.at, "in_ptr"))
		return READ;
	if (name.len >= 7 && begins(name.at, "out_ptr"))
		return WRITTEN;
	return name.len >= 4 && begins(name.at, "arg_") ? READ : 0;
}

/* def triton_poi_fused_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr): */
static void read_head(struct reading *r, const char *at)
{
	struct word name = name_at(at);
	struct head head = { 0 };

	at += name.len;
	while ((*at == '(' || *at == ',') && head.nr < ARGUMENTS_MAX) {
		at += 1 + strspn(at + 1, " ");
		head.roles[head.nr++] = role_of(name_at(at));
		at += strcspn(at, ",)\n");
	}
	vt_map_put(&r->head_of, key_of(name), r->heads.len);
	vt_vector_push(&r->heads, head);
}

static const uint64_t *memory_of(const struct reading *r, struct word name)
{
	return name.len ? vt_map_find(&r->memory_of, key_of(name)) : NULL;
}

static void make_memory(struct reading *r, struct word name, int is_result, uint32_t result)
{
	struct vt_generated_memory memory = { r->line, result, (uint8_t)is_result };

	vt_map_put(&r->memory_of, key_of(name), r->code->memories.len);
	vt_vector_push(&r->code->memories, memory);
}

/* buf8 = buf7[1]: one of the results of the operator that made buf7. */
static void take_result(struct reading *r, struct word name, const struct vt_generated_memory *of,
			uint32_t result)
{
	struct vt_generated_memory memory = *of;

	memory.result = result;
	vt_map_put(&r->memory_of, key_of(name), r->code->memories.len);
	vt_vector_push(&r->code->memories, memory);
}

/* What follows  NAME = . */
static void read_assignment(struct reading *r, struct word name, const char *value)
{
	static const char view[] = "reinterpret_tensor(";
	struct word other = name_at(begins(value, view) ? value + strlen(view) : value);
	const uint64_t *memory = memory_of(r, other);

	if (begins(value, "empty_strided_"))
		make_memory(r, name, 0, 0);
	else if (begins(value, "torch.ops.") || begins(value, "extern_kernels."))
		make_memory(r, name, 1, 0);
	else if (memory && other.at[other.len] == '[' && r->code->memories.items[*memory].is_result)
		take_result(r, name, &r->code->memories.items[*memory],
			    (uint32_t)strtoul(other.at + other.len + 1, NULL, 10));
	else if (memory)
		vt_map_put(&r->memory_of, key_of(name), *memory);
}

/* The end of an argument: a comma or the bracket that closes the call. */
static const char *behind_argument(const char *at)
{
	int depth = 0;

	for (; *at && *at != '\n'; at++) {
		if (!depth && (*at == ',' || *at == ')'))
			break;
		depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
	}
	return at;
}

/* "aten.addmm, aten.relu" -> "addmm relu" */
static char *list_operators(const struct reading *r)
{
	char *text = vt_xstrndup(r->operators ? r->operators : "", r->operators_len), *to = text;

	for (const char *from = text; *from;) {
		const char *dot = from + strcspn(from, ".,");
		size_t len;

		if (*dot == '.')
			from = dot + 1;
		len = strcspn(from, ",");
		memmove(to, from, len);
		to += len;
		from += len;
		from += strspn(from, ", ");
		/* At the end `to` may be the NUL itself. */
		if (*from)
			*to++ = ' ';
	}
	*to = '\0';
	return text;
}

/* Of a template, which computes products by itself, that is the first word. */
static char *operators_of(const struct reading *r, struct word kernel)
{
	char *list = list_operators(r), *text = list;

	if (kernel.len > 11 && begins(kernel.at, "triton_tem_")) {
		text = vt_xasprintf("template %s", list);
		free(list);
	}
	return text;
}

/* `arguments`: after  NAME.run( */
static void read_run(struct reading *r, struct word name, const struct head *head,
		     const char *arguments)
{
	struct vt_generated_kernel kernel = { r->line, operators_of(r, name),
					      (uint32_t)r->code->tensors.len, 0 };
	const char *at = arguments;

	for (uint32_t i = 0; i < head->nr && *at && *at != '\n'; i++) {
		static const char view[] = "reinterpret_tensor(";
		const uint64_t *memory;

		at += strspn(at, " ");
		memory = memory_of(r, name_at(begins(at, view) ? at + strlen(view) : at));
		if (memory && head->roles[i]) {
			struct vt_generated_tensor tensor = { (uint32_t)*memory,
							      head->roles[i] & READ,
							      (head->roles[i] & WRITTEN) != 0 };

			vt_vector_push(&r->code->tensors, tensor);
			kernel.nr_tensors++;
		}
		at = behind_argument(at);
		if (*at != ',')
			break;
		at++;
	}
	vt_vector_push(&r->code->kernels, kernel);
}

static void read_line(struct reading *r, const char *at, size_t len)
{
	/* Only a comment is searched, and no further than its end. */
	const char *comment = *at == '#' ? memmem(at, len, COMMENT, strlen(COMMENT)) : NULL;
	struct word name = name_at(at);
	const uint64_t *head = name.len ? vt_map_find(&r->head_of, key_of(name)) : NULL;

	if (comment) {
		r->operators = comment + strlen(COMMENT);
		r->operators_len = strcspn(r->operators, "]\n");
	} else if (begins(at, "def ")) {
		read_head(r, at + strlen("def "));
	} else if (head && begins(at + name.len, ".run(")) {
		read_run(r, name, &r->heads.items[*head], at + name.len + strlen(".run("));
	} else if (name.len && begins(at + name.len, " = ")) {
		read_assignment(r, name, at + name.len + strlen(" = "));
	}
}

void vt_generated_code_read(struct vt_generated_code *code, const char *text)
{
	struct reading r = { .code = code };

	memset(code, 0, sizeof(*code));
	while (*text) {
		size_t len = strcspn(text, "\n"), digits = strspn(text, "0123456789");

		if (text[digits] == '\t') {
			r.line = (uint32_t)strtoul(text, NULL, 10);
			read_line(&r, text + digits + 1, len - digits - 1);
		}
		text += len + (text[len] == '\n');
	}
	vt_vector_release(&r.heads);
	vt_map_release(&r.head_of);
	vt_map_release(&r.memory_of);
}

void vt_generated_code_release(struct vt_generated_code *code)
{
	for (size_t i = 0; i < code->kernels.len; i++)
		free(code->kernels.items[i].operators);
	vt_vector_release(&code->kernels);
	vt_vector_release(&code->tensors);
	vt_vector_release(&code->memories);
}
