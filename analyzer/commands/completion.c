/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/completion.h"

#include <string.h>

#include "analyzer/base/util.h"

/* After "--" come the words of another program: no options of ours any more. */
static const char bash_end[] =
	"	if [ \"$COMP_CWORD\" = 1 ]; then\n"
	"		COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
	"		return\n"
	"	fi\n"
	"	for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"		if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	"			declare -F _command_offset >/dev/null && _command_offset $((i + "
	"1))\n"
	"			return\n"
	"		fi\n"
	"	done\n"
	"	case $word in\n"
	"	-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	"	esac\n"
	"}\n"
	"complete -o default -F _vtrace vtrace\n";

static void print_bash(const struct vt_completion_row *rows, size_t nr, FILE *out)
{
	fputs("# bash completion for vtrace\n_vtrace()\n{\n"
	      "	local word=${COMP_WORDS[COMP_CWORD]} options='' i commands='",
	      out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? " " : "", rows[i].command->name);
	fputs("'\n	COMPREPLY=()\n	case ${COMP_WORDS[1]-} in\n", out);
	for (size_t i = 0; i < nr; i++) {
		fprintf(out, "\t%s) options='", rows[i].command->name);
		for (const struct vt_option *o = rows[i].spec->options; o->name; o++)
			fprintf(out, "--%s ", o->name);
		fputs("--help' ;;\n", out);
	}
	fputs("	esac\n", out);
	fputs(bash_end, out);
}

/* A text inside quotes; zsh's descriptions end at brackets and colons. */
static void print_quoted(const char *text, const char *escaped, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		else if (strchr(escaped, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_zsh_option(const struct vt_option *o, FILE *out)
{
	if (o->id < 256)
		fprintf(out, " \\\n\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->id, o->name, o->id,
			o->argument ? "+" : "", o->name, o->argument ? "=" : "");
	else
		fprintf(out, " \\\n\t\t\t'--%s%s[", o->name, o->argument ? "=" : "");
	print_quoted(o->help, "[]:\\", out);
	fputc(']', out);
	if (o->argument) {
		fputc(':', out);
		print_quoted(o->argument, ":\\", out);
		fputs(":_files", out);
	}
	fputc('\'', out);
}

static void print_zsh(const struct vt_completion_row *rows, size_t nr, FILE *out)
{
	fputs("#compdef vtrace\n_vtrace()\n{\n\tlocal curcontext=$curcontext state line\n"
	      "\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		fprintf(out, "\t\t\t'%s:", rows[i].command->name);
		print_quoted(rows[i].command->summary, "\\", out);
		fputs("'\n", out);
	}
	fputs("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	      "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
	      "\tcase $command in\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		int has_command = rows[i].spec->is_stopping_at_operand;

		fprintf(out, "\t%s)\n\t\t_arguments%s", rows[i].command->name,
			has_command ? " -S" : "");
		for (const struct vt_option *o = rows[i].spec->options; o->name; o++)
			print_zsh_option(o, out);
		fprintf(out,
			" \\\n\t\t\t'(-h --help)'{-h,--help}'[show this help]' \\\n\t\t\t'%s'\n"
			"\t\t;;\n",
			has_command ? "*::command:_normal" : "*:file:_files");
	}
	fputs("\tesac\n}\n_vtrace \"$@\"\n", out);
}

static void print_fish(const struct vt_completion_row *rows, size_t nr, FILE *out)
{
	fputs("# fish completion for vtrace\n"
	      "complete -c vtrace -n __fish_use_subcommand -f -l help -d 'list the commands'\n"
	      "complete -c vtrace -n __fish_use_subcommand -f -l version -d 'show the version'\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		const char *name = rows[i].command->name;

		fprintf(out, "complete -c vtrace -n __fish_use_subcommand -f -a %s -d '", name);
		print_quoted(rows[i].command->summary, "", out);
		fputs("'\n", out);
		for (const struct vt_option *o = rows[i].spec->options; o->name; o++) {
			fprintf(out, "complete -c vtrace -n '__fish_seen_subcommand_from %s' -l %s",
				name, o->name);
			if (o->id < 256)
				fprintf(out, " -s %c", o->id);
			fprintf(out, "%s -d '", o->argument ? " -r" : "");
			print_quoted(o->help, "", out);
			fputs("'\n", out);
		}
	}
}

int vt_completion_print(const char *shell, const struct vt_completion_row *rows, size_t nr,
			FILE *out)
{
	if (!strcmp(shell, "bash"))
		print_bash(rows, nr, out);
	else if (!strcmp(shell, "zsh"))
		print_zsh(rows, nr, out);
	else if (!strcmp(shell, "fish"))
		print_fish(rows, nr, out);
	else
		return -1;
	return 0;
}
