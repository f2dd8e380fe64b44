/* SPDX-License-Identifier: MIT */
#include "analyzer/export/parquet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/install_path.h"
#include "analyzer/base/util.h"
#include "analyzer/export/tables.h"

#define PROGRAM "duckdb"

static const char *program(void)
{
	const char *named = getenv("VTRACE_DUCKDB");

	return named && *named ? named : PROGRAM;
}

int vt_parquet_check(struct vt_diag *diag)
{
	char *path = vt_install_path_command(program());
	int is_there = path != NULL;

	free(path);
	if (is_there)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: command not found; Parquet is written by DuckDB (pip install duckdb-cli),"
		    " --format csv needs nothing",
		    program());
	return -1;
}

/* A path as a string of SQL. */
static void add_string(struct vt_buffer *sql, const char *text)
{
	vt_buffer_puts(sql, "'");
	for (; *text; text++)
		vt_buffer_printf(sql, *text == '\'' ? "''" : "%c", *text);
	vt_buffer_puts(sql, "'");
}

static void add_table(struct vt_buffer *sql, const char *folder, unsigned table, int64_t rank)
{
	const struct vt_table_spec *spec = &vt_tables_all[table];
	char *from = vt_tables_path(folder, table, rank, "csv");
	char *to = vt_tables_path(folder, table, rank, "parquet");

	vt_buffer_puts(sql, "COPY (SELECT * FROM read_csv(");
	add_string(sql, from);
	vt_buffer_puts(sql, ", auto_detect=false, header=true, delim=',', quote='\"', escape='\"',"
			    " nullstr='', allow_quoted_nulls=false, max_line_size=67108864,"
			    " hive_partitioning=false, columns={");
	for (unsigned i = 0; i < spec->nr_columns; i++)
		vt_buffer_printf(sql, "%s'%s': '%s'", i ? ", " : "", spec->columns[i].name,
				 spec->columns[i].is_text ? "VARCHAR" : "BIGINT");
	vt_buffer_puts(sql, "})) TO ");
	add_string(sql, to);
	vt_buffer_puts(sql, " (FORMAT parquet, COMPRESSION zstd);\n");
	free(from);
	free(to);
}

/* Its messages go to standard error; it prints nothing else here. */
static int run(const char *script)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execlp(program(), program(), "-init", "/dev/null", "-bail", "-f", script,
		       (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int write_script(const char *path, const struct vt_buffer *sql)
{
	FILE *file = fopen(path, "wxe");
	int is_bad = !file || fwrite(sql->data, 1, sql->len, file) != sql->len;

	if (file && fclose(file))
		is_bad = 1;
	return is_bad ? -1 : 0;
}

static void remove_sources(const char *folder, const struct vt_rank *const *ranks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		for (unsigned t = 0; t < VT_NR_TABLES; t++) {
			char *path = vt_tables_path(folder, t, ranks[i]->number, "csv");

			unlink(path);
			free(path);
		}
}

int vt_parquet_convert(const char *folder, const struct vt_rank *const *ranks, uint32_t nr,
		       struct vt_diag *diag)
{
	char *script = vt_xasprintf("%s/convert.sql", folder);
	struct vt_buffer sql;
	int rc;

	vt_buffer_init(&sql);
	for (uint32_t i = 0; i < nr; i++)
		for (unsigned t = 0; t < VT_NR_TABLES; t++)
			add_table(&sql, folder, t, ranks[i]->number);
	rc = write_script(script, &sql);
	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", script, strerror(errno));
	else if ((rc = run(script)))
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s could not write Parquet in %s; its CSV is still there", program(),
			    folder);
	if (!rc)
		remove_sources(folder, ranks, nr);
	unlink(script);
	vt_buffer_release(&sql);
	free(script);
	return rc;
}
