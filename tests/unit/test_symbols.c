/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/import/resolve.h"
#include "analyzer/import/symbols.h"
#include "analyzer/base/util.h"

/* CMakeLists.txt gives this program the same one. */
#define BUILD_ID "00112233445566778899aabbccddeeff00112233"

/* A second connection to the database whose frames are resolved; NULL = nobody asks. */
static struct {
	struct vt_db *other;
	int nr_asked;
} g;

/* Takes the place of libdw's own: whether the database can be written to while it is asked. */
void *dwarf_addrdie(void *dwarf, uint64_t address, void *die);

void *dwarf_addrdie(void *dwarf, uint64_t address, void *die)
{
	void *(*real)(void *, uint64_t, void *);

	*(void **)&real = dlsym(RTLD_NEXT, "dwarf_addrdie");
	if (g.other) {
		g.nr_asked++;
		assert_int_equal(vt_db_begin(g.other), 0);
		vt_db_rollback(g.other);
	}
	return real(dwarf, address, die);
}

enum { MARKED_LINE = __LINE__ + 1 };
__attribute__((noinline)) static int marked_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Four bytes, and then some that belong to no function. */
__asm__(".text\n"
	".p2align 4\n"
	".type short_function, %function\n"
	"short_function:\n"
	".skip 4\n"
	".size short_function, 4\n"
	".skip 28\n");
extern const char short_function[] __attribute__((visibility("hidden")));

/* Three functions at one address, the longest last by name; two of them equally long. */
__asm__(".text\n"
	".p2align 4\n"
	".type a_part, %function\n"
	".type z_whole, %function\n"
	".type y_whole, %function\n"
	"a_part:\n"
	"z_whole:\n"
	"y_whole:\n"
	".skip 16\n"
	".size a_part, 4\n"
	".size z_whole, 16\n"
	".size y_whole, 16\n");
extern const char a_part[] __attribute__((visibility("hidden")));

static char *own_path(void)
{
	char *path = vt_xcalloc(1, 4096);

	assert_true(readlink("/proc/self/exe", path, 4095) > 0);
	return path;
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static uint64_t own_bias(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(first_bias, &bias);
	return bias;
}

static void a_static_function_is_found_with_its_line(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)marked_function - own_bias();
	char *path = own_path();
	uint64_t asked[] = { address + 2, address + 1, 1, address };
	struct vt_symbols *symbols = vt_symbols_open(path, "", asked, 4);
	struct vt_symbol symbol;

	(void)state;
	assert_int_equal(marked_function(1), 2);
	assert_non_null(symbols);
	vt_symbols_find(symbols, address + 1, &symbol);
	assert_string_equal(symbol.name, "marked_function");
	assert_int_equal(symbol.offset, 1);
	/* No other function starts between the two. */
	vt_symbols_find(symbols, address + 2, &symbol);
	assert_string_equal(symbol.name, "marked_function");
	assert_int_equal(symbol.offset, 2);
	if (symbol.file) {
		assert_non_null(strstr(symbol.file, "test_symbols.c"));
		assert_in_range(symbol.line, MARKED_LINE, MARKED_LINE + 4);
	}
	/* A return address right at its beginning belongs to whatever lies before. */
	vt_symbols_find(symbols, address, &symbol);
	assert_true(!symbol.name || strcmp(symbol.name, "marked_function") != 0);
	vt_symbols_find(symbols, 1, &symbol);
	assert_null(symbol.name);
	vt_symbols_close(symbols);
	free(path);
}

static void between_functions_there_is_no_name(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)short_function - own_bias();
	uint64_t asked[] = { address + 4, address + 5 };
	char *path = own_path();
	struct vt_symbols *symbols = vt_symbols_open(path, "", asked, 2);
	struct vt_symbol symbol;

	(void)state;
	assert_non_null(symbols);
	vt_symbols_find(symbols, asked[0], &symbol);
	assert_string_equal(symbol.name, "short_function");
	vt_symbols_find(symbols, asked[1], &symbol);
	assert_null(symbol.name);
	vt_symbols_close(symbols);
	free(path);
}

static void of_several_at_one_address_the_longest_counts(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)a_part - own_bias() + 2;
	char *path = own_path();
	struct vt_symbols *symbols = vt_symbols_open(path, "", &address, 1);
	struct vt_symbol symbol;

	(void)state;
	assert_non_null(symbols);
	vt_symbols_find(symbols, address, &symbol);
	assert_string_equal(symbol.name, "y_whole");
	vt_symbols_close(symbols);
	free(path);
}

static void cxx_names_are_demangled(void **state)
{
	void *function = dlsym(RTLD_DEFAULT, "_ZNSt13runtime_errorC1EPKc");
	struct vt_symbols *symbols;
	struct vt_symbol symbol;
	uint64_t address;
	Dl_info info;

	(void)state;
	if (!function || !dladdr(function, &info))
		skip();
	address = (uint64_t)((char *)function - (char *)info.dli_fbase) + 4;
	symbols = vt_symbols_open(info.dli_fname, "", &address, 1);
	if (!symbols)
		skip();
	vt_symbols_find(symbols, address, &symbol);
	assert_string_equal(symbol.name, "std::runtime_error::runtime_error(char const*)");
	assert_int_equal(symbol.offset, 4);
	vt_symbols_close(symbols);
}

static void another_file_than_the_one_recorded_is_refused(void **state)
{
	char *path = own_path();
	struct vt_symbols *symbols = vt_symbols_open(path, BUILD_ID, NULL, 0);

	(void)state;
	assert_null(vt_symbols_open("/no/such/file.so", "", NULL, 0));
	assert_null(vt_symbols_open("linux-vdso.so.1", "", NULL, 0));
	assert_null(vt_symbols_open("/proc/self/cmdline", "", NULL, 0));
	assert_non_null(symbols);
	assert_null(vt_symbols_open(path, "f" BUILD_ID, NULL, 0));
	assert_null(vt_symbols_open(path, "00112233", NULL, 0));
	vt_symbols_close(symbols);
	free(path);
}

/* Opened plainly, it would wait for a writer that never comes. */
static void a_pipe_in_a_modules_place_is_not_waited_for(void **state)
{
	char *folder = getcwd(NULL, 0), *path = vt_xasprintf("%s/pipe.so", folder);

	(void)state;
	alarm(20);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(vt_symbols_open(path, "", NULL, 0));
	assert_null(vt_symbols_open("/dev/zero", "", NULL, 0));
	alarm(0);
	free(path);
	free(folder);
}

static void frames_of_a_database_are_resolved_once(void **state)
{
	uint64_t bias = own_bias(), frames[] = { (uint64_t)(uintptr_t)marked_function + 1, 5 };
	char *path = own_path();
	struct vt_module_record *module;
	struct builder b;
	struct vt_db *db;
	size_t bytes = sizeof(*module) + strlen(path);

	(void)state;
	module = vt_xcalloc(1, bytes);
	module->start = bias;
	module->end = frames[0] + 0x1000;
	module->bias = bias;
	module->path_len = (uint32_t)strlen(path);
	memcpy(module->bytes, path, strlen(path));
	builder_init(&b);
	/* The stack first: its module is found when symbols are looked up. */
	builder_native_stack(&b, 1, frames, 2);
	builder_append(&b, VT_RECORD_MODULE, module, bytes);
	db = unit_import(&b, "resolve.db");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame WHERE module IS NULL"), 2);
	assert_int_equal(vt_db_open(&g.other, "resolve.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_resolve_frames(db, NULL), 0);
	vt_db_close(g.other);
	g.other = NULL;
	if (!g.nr_asked)
		print_message("built without debug information: no lock was looked for\n");
	unit_assert_text(db, "SELECT symbol FROM native_frame WHERE module = 1", "marked_function");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame WHERE symbol IS NULL"), 1);
	vt_db_exec(db, "UPDATE native_frame SET symbol = 'kept' WHERE module = 1");
	assert_int_equal(vt_resolve_frames(db, NULL), 0);
	unit_assert_text(db, "SELECT symbol FROM native_frame WHERE module = 1", "kept");
	vt_db_close(db);
	builder_release(&b);
	free(module);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_static_function_is_found_with_its_line),
		cmocka_unit_test(between_functions_there_is_no_name),
		cmocka_unit_test(of_several_at_one_address_the_longest_counts),
		cmocka_unit_test(cxx_names_are_demangled),
		cmocka_unit_test(another_file_than_the_one_recorded_is_refused),
		cmocka_unit_test(a_pipe_in_a_modules_place_is_not_waited_for),
		cmocka_unit_test(frames_of_a_database_are_resolved_once),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
