/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/simulate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/card_choice.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/environment.h"
#include "analyzer/base/install_path.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/dynamic_loader.h"
#include "analyzer/output/table.h"

/* Runs `program --python PYTHON` and returns its first line, NULL if it failed. */
static char *ask(const char *program, const char *python)
{
	int ends[2], status = -1;
	char line[4096] = "";
	FILE *output;
	pid_t pid;

	if (pipe(ends))
		return NULL;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program, program, "--python", python, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	if (!output || !fgets(line, sizeof(line), output))
		line[0] = '\0';
	if (output)
		fclose(output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	line[strcspn(line, "\n")] = '\0';
	return pid > 0 && status == 0 ? vt_xstrdup(line) : NULL;
}

static int find_stubs(struct vt_simulate *simulate, const char *command_path, struct vt_diag *diag)
{
	char *python = vt_install_path_python(command_path);
	char *program = vt_xasprintf("%s/vtrace-sim-stubs", simulate->folder);

	/* A shell script, say, that will start Python: then the usual one. */
	if (!python)
		python = vt_install_path_command("python3");
	simulate->stubs = python ? ask(program, python) : vt_xstrdup("");
	if (!simulate->stubs)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "--simulate: %s --python %s failed: no library stubs", program, python);
	free(python);
	free(program);
	return simulate->stubs ? 0 : -1;
}

int vt_simulate_prepare(struct vt_simulate *simulate, const char *profile, const char *command_path,
			struct vt_diag *diag)
{
	struct vt_card_profile card;
	int rc = -1;

	memset(simulate, 0, sizeof(*simulate));
	simulate->folder = vt_install_path_own("simulator");
	if (!simulate->folder)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "--simulate: simulator not found");
	else
		rc = vt_card_choice_read(&card, profile, vt_embedded_profiles, "--simulate", diag);
	if (!rc) {
		simulate->routing = vt_xstrdup(card.routing);
		simulate->rank = card.rank;
		simulate->nr_ranks = card.nr_ranks;
		simulate->card = vt_card_choice_absolute(profile, "--simulate", diag);
	}
	if (!rc)
		rc = simulate->card ? find_stubs(simulate, command_path, diag) : -1;
	if (rc)
		vt_simulate_release(simulate);
	return rc;
}

void vt_simulate_list(FILE *out)
{
	static const struct vt_column columns[] = {
		{ "name", 0 },       { "memory", 1 }, { "SMs", 1 },
		{ "capability", 1 }, { "device", 0 }, { "memory is from", 0 },
	};
	struct vt_card_profile card;
	struct vt_table table;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; !vt_card_choice_at(&card, vt_embedded_profiles, i); i++) {
		char bytes[VT_UNITS_MAX], sms[16], capability[16];

		snprintf(sms, sizeof(sms), "%d", card.nr_sms);
		snprintf(capability, sizeof(capability), "%d.%d", card.capability / 10,
			 card.capability % 10);
		vt_table_add(&table, (const char *const[]){
					     card.name,
					     vt_units_bytes(bytes, sizeof(bytes), card.total_bytes),
					     sms, capability, card.device, card.source });
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

void vt_simulate_release(struct vt_simulate *simulate)
{
	vt_shared_devices_remove(&simulate->shared);
	free(simulate->folder);
	free(simulate->stubs);
	free(simulate->card);
	free(simulate->routing);
	memset(simulate, 0, sizeof(*simulate));
}

/* Without it the processes of the program do not see each other's memory, which is no error. */
static void share(struct vt_simulate *simulate)
{
	/* A simulation inside of another one is on the same devices. */
	if (!getenv("VTRACE_SIM_SHARED") && !vt_shared_devices_make(&simulate->shared))
		setenv("VTRACE_SIM_SHARED", simulate->shared.path, 1);
}

/* As torchrun would start it on a separate machine; nothing listens at the address. */
static void set_rank(int rank, int nr_ranks)
{
	char rank_text[16], ranks_text[16], both[32];

	snprintf(rank_text, sizeof(rank_text), "%d", rank);
	snprintf(ranks_text, sizeof(ranks_text), "%d", nr_ranks);
	snprintf(both, sizeof(both), "%d/%d", rank, nr_ranks);
	setenv("VTRACE_SIM_RANK", both, 1);
	setenv("RANK", rank_text, 1);
	setenv("GROUP_RANK", rank_text, 1);
	setenv("WORLD_SIZE", ranks_text, 1);
	setenv("GROUP_WORLD_SIZE", ranks_text, 1);
	setenv("LOCAL_RANK", "0", 1);
	setenv("LOCAL_WORLD_SIZE", "1", 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", "29500", 1);
}

int vt_simulate_set_environment(struct vt_simulate *simulate, struct vt_diag *diag)
{
	char *folder = vt_dynamic_loader_name(simulate->folder, diag);
	char *stubs = folder ? vt_dynamic_loader_name(simulate->stubs, diag) : NULL;
	char *loader = vt_xasprintf("%s/libvtrace-simulator.so", folder ? folder : "");
	char *programs = vt_xasprintf("%s/bin", folder ? folder : "");

	if (stubs) {
		if (getenv("PATH"))
			vt_environment_prepend("PATH", programs); /* nvidia-smi */
		vt_environment_prepend("LD_PRELOAD", loader);
		if (*stubs)
			vt_environment_prepend("LD_LIBRARY_PATH", stubs);
		vt_environment_prepend("LD_LIBRARY_PATH", folder);
		vt_environment_prepend("LIBRARY_PATH", folder); /* of linkers: -lcuda */
		setenv("VTRACE_SIM_PROFILE", simulate->card, 1);
		share(simulate);
		setenv("VTRACE_SIM_STUBS", simulate->stubs, 1);
		if (*simulate->routing)
			setenv("VTRACE_SIM_ROUTING", simulate->routing, 1);
		if (simulate->nr_ranks)
			set_rank(simulate->rank, simulate->nr_ranks);
	}
	free(loader);
	free(programs);
	free(folder);
	free(stubs);
	return stubs ? 0 : -1;
}
