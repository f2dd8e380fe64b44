/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/stacks.h"

#include <stdio.h>
#include <string.h>

#include "common/journal_format.h"

/* The innermost frames are PyTorch taking the stack. */
static const char *const own_frames[] = {
	"torch::unwind::unwind",
	"torch::CapturedTraceback::gather",
	"torch::cuda::(anonymous namespace)::gather",
	"gather_with_cpp",
};

struct text {
	const char *bytes;
	size_t len;
};

static void init_rows(struct vt_snapshot_rows *rows, struct vt_db *db, const char *sql)
{
	rows->insert = vt_db_prepare(db, sql);
}

static void release_rows(struct vt_snapshot_rows *rows)
{
	vt_map_release(&rows->ids);
	vt_stmt_free(rows->insert);
}

void vt_snapshot_stacks_init(struct vt_snapshot_stacks *s, struct vt_snapshot_input *input,
			     struct vt_db *db)
{
	memset(s, 0, sizeof(*s));
	s->input = input;
	init_rows(&s->strings, db, "INSERT INTO string VALUES (?,?)");
	init_rows(&s->codes, db, "INSERT INTO python_code VALUES (?,?,?,0)");
	init_rows(&s->modules, db, "INSERT INTO module VALUES (?,?,'',0,0,0)");
	init_rows(&s->python_frames, db,
		  "INSERT INTO python_frame(id, code, line, self_type) VALUES (?,?,?,?)");
	init_rows(&s->python_nodes, db, "INSERT INTO python_node VALUES (?,?,?)");
	init_rows(&s->python_stacks, db, "INSERT INTO python_stack VALUES (?,?,?)");
	init_rows(&s->native_frames, db,
		  "INSERT INTO native_frame(id, address, module, symbol, file, line)"
		  " VALUES (?1,?1,?2,?3,?4,?5)");
	init_rows(&s->native_nodes, db, "INSERT INTO native_node VALUES (?,?,?)");
	init_rows(&s->native_stacks, db, "INSERT INTO native_stack VALUES (?,?,?)");
}

void vt_snapshot_stacks_release(struct vt_snapshot_stacks *s)
{
	release_rows(&s->strings);
	release_rows(&s->codes);
	release_rows(&s->modules);
	release_rows(&s->python_frames);
	release_rows(&s->python_nodes);
	release_rows(&s->python_stacks);
	release_rows(&s->native_frames);
	release_rows(&s->native_nodes);
	release_rows(&s->native_stacks);
	vt_map_release(&s->frames);
	vt_map_release(&s->lists);
	vt_vector_release(&s->known);
	vt_vector_release(&s->known_frames);
}

/* The id of the row with that key; *is_new: the caller binds parameters 2.. and inserts it. */
static uint32_t intern(struct vt_snapshot_rows *rows, struct vt_key key, int *is_new)
{
	const uint64_t *id = vt_map_find(&rows->ids, key);

	*is_new = !id;
	if (id)
		return (uint32_t)*id;
	vt_map_put(&rows->ids, key, ++rows->last_id);
	vt_stmt_bind_int(rows->insert, 1, rows->last_id);
	return rows->last_id;
}

static struct text text_of(const struct vt_snapshot_stacks *s, vt_value value)
{
	struct text text;

	text.bytes = vt_values_bytes(&s->input->values, value, &text.len);
	if (!text.bytes)
		text.bytes = "";
	return text;
}

static void bind_text(struct vt_stmt *stmt, int parameter, struct text text)
{
	vt_stmt_bind_text_len(stmt, parameter, text.bytes, (int)text.len);
}

int vt_snapshot_stacks_string(struct vt_snapshot_stacks *s, vt_value value, uint32_t *id)
{
	struct text text = text_of(s, value);
	int is_new;

	*id = 0;
	if (!text.len)
		return 0;
	*id = intern(&s->strings, (struct vt_key){ value, 0, 0 }, &is_new);
	if (!is_new)
		return 0;
	bind_text(s->strings.insert, 2, text);
	return vt_stmt_step(s->strings.insert);
}

static int has_prefix(struct text text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text.len >= len && !memcmp(text.bytes, prefix, len);
}

static int has_suffix(struct text text, const char *suffix)
{
	size_t len = strlen(suffix);

	return text.len >= len && !memcmp(text.bytes + text.len - len, suffix, len);
}

/* Files of Python code end in .py, or have a name in brackets: <stdin>, <frozen runpy>. */
static int is_python(struct text file, struct text name)
{
	if (has_suffix(file, ".py") || (has_prefix(file, "<") && has_suffix(file, ">")))
		return 1;
	return file.len && !has_prefix(file, "??") && !memchr(name.bytes, '(', name.len) &&
	       !memchr(file.bytes, '.', file.len);
}

/*
 * Methods of torch.nn.Module, which every module has, and of PyTorch's own modules.  A snapshot has
 * no classes: of these frames it is known that their self is some module.
 */
static int is_module_method(struct text file, struct text name)
{
	static const char *const methods[] = {
		"_call_impl", "_wrapped_call_impl", "forward", "__init__", "reset_parameters",
		"_apply",     "to",		    "cuda",    "half",	   "bfloat16",
		"float",      "load_state_dict",    "_load_from_state_dict",
	};

	if (!memmem(file.bytes, file.len, "/torch/nn/modules/", strlen("/torch/nn/modules/")))
		return 0;
	for (size_t i = 0; i < VT_ARRAY_SIZE(methods); i++)
		if (name.len == strlen(methods[i]) && has_prefix(name, methods[i]))
			return 1;
	return 0;
}

/* Who calls a module's forward. */
static int is_caller_of_forward(struct text file, struct text name)
{
	return has_suffix(file, "/torch/nn/modules/module.py") && has_suffix(name, "_call_impl");
}

/* The class that stands for any: the id of its name. */
static int module_class(struct vt_snapshot_stacks *s, uint32_t *id)
{
	return vt_snapshot_stacks_string(
		s, vt_values_text(&s->input->values, "Module", strlen("Module")), id);
}

static int python_frame(struct vt_snapshot_stacks *s, const struct vt_snapshot_frame *frame,
			uint32_t *id)
{
	vt_value file = frame->file, name = frame->name;
	int64_t line = frame->line;
	uint32_t class = 0;
	int is_new;
	uint32_t code = intern(&s->codes, (struct vt_key){ file, name, 0 }, &is_new);

	if (is_new) {
		bind_text(s->codes.insert, 2, text_of(s, file));
		bind_text(s->codes.insert, 3, text_of(s, name));
		if (vt_stmt_step(s->codes.insert))
			return -1;
	}
	if (frame->is_method && module_class(s, &class))
		return -1;
	*id = intern(&s->python_frames, (struct vt_key){ code, (uint64_t)line, class }, &is_new);
	if (!is_new)
		return 0;
	vt_stmt_bind_int(s->python_frames.insert, 2, code);
	vt_stmt_bind_int(s->python_frames.insert, 3, line);
	vt_stmt_bind_id(s->python_frames.insert, 4, class);
	return vt_stmt_step(s->python_frames.insert);
}

/* A library in the place of a source file: without debug information, PyTorch names that. */
static int is_library(struct text file)
{
	return has_suffix(file, ".so") || memmem(file.bytes, file.len, ".so.", 4) != NULL;
}

/*
 * The library of a frame: what PyTorch names, or of a symbol of PyTorch's own namespaces
 * "libtorch", which stands for all of its libraries; else "?".
 */
static int find_module(struct vt_snapshot_stacks *s, struct text file, struct text symbol,
		       uint32_t *module)
{
	static const char *const of_torch[] = { "torch::", "at::", "c10::", "caffe2::", "THP" };
	struct text path = { "?", 1 };
	vt_value key;
	int is_new;

	for (size_t i = 0; i < VT_ARRAY_SIZE(of_torch); i++)
		if (has_prefix(symbol, of_torch[i]))
			path = (struct text){ "libtorch", strlen("libtorch") };
	if (is_library(file))
		path = file;
	key = vt_values_text(&s->input->values, path.bytes, path.len);
	*module = intern(&s->modules, (struct vt_key){ key, 0, 0 }, &is_new);
	if (!is_new)
		return 0;
	bind_text(s->modules.insert, 2, path);
	return vt_stmt_step(s->modules.insert);
}

static int native_frame(struct vt_snapshot_stacks *s, const struct vt_snapshot_frame *frame,
			uint32_t *id)
{
	vt_value file = frame->file, name = frame->name;
	int64_t line = frame->line;
	struct text file_text = text_of(s, file), symbol = text_of(s, name);
	struct vt_stmt *insert = s->native_frames.insert;
	const int has_source = !is_library(file_text) && file_text.len &&
			       !has_prefix(file_text, "??");
	uint32_t module;
	int is_new;

	if (find_module(s, file_text, symbol, &module))
		return -1;
	*id = intern(&s->native_frames, (struct vt_key){ file, name, (uint64_t)line }, &is_new);
	if (!is_new)
		return 0;
	vt_stmt_bind_id(insert, 2, module);
	if (symbol.len && !has_prefix(symbol, "??"))
		bind_text(insert, 3, symbol);
	else
		vt_stmt_bind_null(insert, 3);
	if (has_source)
		bind_text(insert, 4, file_text);
	else
		vt_stmt_bind_null(insert, 4);
	if (has_source && line > 0)
		vt_stmt_bind_int(insert, 5, line);
	else
		vt_stmt_bind_null(insert, 5);
	return vt_stmt_step(insert);
}

static int is_own(struct text name)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(own_frames); i++)
		if (has_prefix(name, own_frames[i]))
			return 1;
	return 0;
}

#define MOST_LINE ((int64_t)1 << 40)

/* `  File "train.py", line 9, in main`, and then perhaps the line itself. */
static void read_line(struct vt_snapshot_stacks *s, vt_value value, struct vt_snapshot_frame *frame)
{
	static const char head[] = "  File \"", middle[] = "\", line ", in[] = ", in ";
	struct text text = text_of(s, value);
	const char *end = text.bytes + text.len, *newline = memchr(text.bytes, '\n', text.len);
	const char *file = text.bytes + strlen(head), *file_end, *name;
	int64_t line = 0;

	frame->file = frame->name = VT_VALUE_UNSET;
	if (!has_prefix(text, head))
		return;
	end = newline ? newline : end;
	file_end = memmem(file, (size_t)(end - file), middle, strlen(middle));
	if (!file_end)
		return;
	for (name = file_end + strlen(middle); name < end && *name >= '0' && *name <= '9'; name++)
		line = line < MOST_LINE ? 10 * line + (*name - '0') : line;
	if (end - name < (ptrdiff_t)strlen(in) || memcmp(name, in, strlen(in)) != 0)
		return;
	name += strlen(in);
	frame->line = line;
	frame->file = vt_values_text(&s->input->values, file, (size_t)(file_end - file));
	frame->name = vt_values_text(&s->input->values, name, (size_t)(end - name));
}

static void read_dict(const struct vt_snapshot_stacks *s, vt_value value,
		      struct vt_snapshot_frame *frame)
{
	const struct vt_values *values = &s->input->values;
	uint64_t line = 0;

	frame->file = vt_values_find(values, value, "filename");
	frame->name = vt_values_find(values, value, "name");
	vt_values_number(values, vt_values_find(values, value, "line"), &line);
	frame->line = (int64_t)line;
}

/* What kind of frame a dict or a line describes, without rows. */
static void read_frame(struct vt_snapshot_stacks *s, vt_value value,
		       struct vt_snapshot_frame *frame)
{
	const int is_line = vt_value_type(value) == VT_VALUE_TEXT;
	struct text file, name;

	memset(frame, 0, sizeof(*frame));
	if (is_line)
		read_line(s, value, frame);
	else
		read_dict(s, value, frame);
	file = text_of(s, frame->file);
	name = text_of(s, frame->name);
	if (frame->line < 0 || frame->line >= MOST_LINE)
		frame->line = 0;
	frame->is_native = (uint8_t)(!is_line && !is_python(file, name));
	frame->is_own = frame->is_native && is_own(name);
	frame->is_caller = is_caller_of_forward(file, name);
	frame->is_method = is_module_method(file, name);
}

/* The frame as a row.  What a module's __call__ calls is a method of a module, too. */
static int take_frame(struct vt_snapshot_stacks *s, vt_value value, int is_called_by_module,
		      struct vt_snapshot_frame *frame)
{
	struct vt_key key = { value, (uint64_t)is_called_by_module, 0 };
	const uint64_t *known = vt_map_find(&s->frames, key);

	if (known) {
		*frame = s->known_frames.items[*known];
		return 0;
	}
	read_frame(s, value, frame);
	frame->is_method |= (uint8_t)is_called_by_module;
	if (!frame->is_own && (frame->is_native ? native_frame(s, frame, &frame->id) :
						  python_frame(s, frame, &frame->id)))
		return -1;
	vt_map_put(&s->frames, key, s->known_frames.len);
	vt_vector_push(&s->known_frames, *frame);
	return 0;
}

static int add_node(struct vt_snapshot_rows *nodes, uint32_t parent, uint32_t frame, uint32_t *id)
{
	int is_new;

	*id = intern(nodes, (struct vt_key){ parent, frame, 0 }, &is_new);
	if (!is_new)
		return 0;
	vt_stmt_bind_int(nodes->insert, 2, parent);
	vt_stmt_bind_int(nodes->insert, 3, frame);
	return vt_stmt_step(nodes->insert);
}

static int add_stack(struct vt_snapshot_rows *stacks, uint32_t leaf, uint32_t depth, uint32_t *id)
{
	int is_new;

	*id = 0;
	if (!leaf)
		return 0;
	*id = intern(stacks, (struct vt_key){ leaf, 0, 0 }, &is_new);
	if (!is_new)
		return 0;
	vt_stmt_bind_int(stacks->insert, 2, leaf);
	vt_stmt_bind_int(stacks->insert, 3, depth);
	return vt_stmt_step(stacks->insert);
}

/*
 * "torch::autograd::generated::AddmmBackward0::apply(...)" is a frame of that node; its class is
 * kept as the recorder finds it in memory, "N5torch8autograd9generated14AddmmBackward0E".
 */
static int take_node_class(struct vt_snapshot_stacks *s, vt_value frame, uint32_t *id)
{
	struct text name = text_of(s, vt_values_find(&s->input->values, frame, "name"));
	static const char prefix[] = "torch::autograd::", suffix[] = "::apply(";
	const char *end, *at = name.bytes;
	char class[256];
	int len = 0;

	if (!has_prefix(name, prefix))
		return 0;
	end = memmem(at, name.len, suffix, strlen(suffix));
	/* Neither a template's function nor a longer name than classes have. */
	if (!end || end - at > (ptrdiff_t)sizeof(class) / 2 || memchr(at, '<', (size_t)(end - at)))
		return 0;
	class[len++] = 'N';
	while (at < end) {
		const char *colons = memmem(at, (size_t)(end - at), "::", 2);
		int part = (int)((colons ? colons : end) - at);

		if (!part)
			return 0;
		len += snprintf(class + len, sizeof(class) - (size_t)len, "%d%.*s", part, part, at);
		at += part + (colons ? 2 : 0);
	}
	class[len++] = 'E';
	return vt_snapshot_stacks_string(s, vt_values_text(&s->input->values, class, (size_t)len),
					 id);
}

/* Frames from the outermost inwards, so that shared callers become shared nodes. */
static int read_stack(struct vt_snapshot_stacks *s, const struct vt_value_list *frames,
		      int is_outermost_first, struct vt_snapshot_stack *stack, struct vt_diag *diag)
{
	/* Of one that is too long the innermost are kept. */
	uint32_t skipped = is_outermost_first && frames->len > VT_STACK_MAX_FRAMES ?
				   frames->len - VT_STACK_MAX_FRAMES :
				   0;
	uint32_t python = 0, native = 0, nr_python = 0, nr_native = 0;
	uint32_t nr = frames->len < VT_STACK_MAX_FRAMES ? frames->len : VT_STACK_MAX_FRAMES;
	struct vt_snapshot_frame frame;
	int is_called_by_module = 0;

	*stack = (struct vt_snapshot_stack){ 0 };
	if (vt_snapshot_visit(s->input, nr, diag))
		return -1;
	for (uint32_t i = nr; i-- > 0;) {
		if (take_frame(s, frames->items[is_outermost_first ? skipped + nr - 1 - i : i],
			       is_called_by_module, &frame))
			return -1;
		if (frame.is_own)
			continue;
		nr_native += frame.is_native;
		nr_python += !frame.is_native;
		if (frame.is_native ? add_node(&s->native_nodes, native, frame.id, &native) :
				      add_node(&s->python_nodes, python, frame.id, &python))
			return -1;
		/* The interpreter's own frames may lie between. */
		if (!frame.is_native)
			is_called_by_module = frame.is_caller;
	}
	for (uint32_t i = 0; i < nr && !stack->node_class; i++)
		if (take_node_class(s, frames->items[i], &stack->node_class))
			return -1;
	if (add_stack(&s->python_stacks, python, nr_python, &stack->python))
		return -1;
	return add_stack(&s->native_stacks, native, nr_native, &stack->native);
}

static int take_list(struct vt_snapshot_stacks *s, vt_value frames, int is_outermost_first,
		     struct vt_snapshot_stack *stack, struct vt_diag *diag)
{
	struct vt_value_list list = vt_values_items(&s->input->values, frames);
	struct vt_key key = { (uintptr_t)list.items, list.len, (uint64_t)is_outermost_first };
	const uint64_t *known;

	if (!list.len) {
		*stack = (struct vt_snapshot_stack){ 0 };
		return 0;
	}
	known = vt_map_find(&s->lists, key);
	if (known) {
		*stack = s->known.items[*known];
		return 0;
	}
	if (read_stack(s, &list, is_outermost_first, stack, diag))
		return -1;
	vt_map_put(&s->lists, key, s->known.len);
	vt_vector_push(&s->known, *stack);
	return 0;
}

int vt_snapshot_stacks_take(struct vt_snapshot_stacks *s, vt_value frames,
			    struct vt_snapshot_stack *stack, struct vt_diag *diag)
{
	return take_list(s, frames, 0, stack, diag);
}

int vt_snapshot_stacks_take_lines(struct vt_snapshot_stacks *s, vt_value lines,
				  struct vt_snapshot_stack *stack, struct vt_diag *diag)
{
	return take_list(s, lines, 1, stack, diag);
}
