/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_LAUNCHERS_H
#define VT_COMMON_LAUNCHERS_H

/*
 * Which of several processes this one is, by the variables that launchers set.  Only the
 * environment is read: no MPI is called, no file opened.
 */

#define VT_LAUNCHERS_MAX_JOB 512

/*
 * X(launcher, rank, world size, rank on its host); "" where it has none.  The first whose rank is a
 * number counts: what torchrun starts under srun is a rank of torchrun's.
 *
 * torchrun, and with it accelerate, deepspeed and lightning; Horovod; Open MPI 1.3 and later;
 * MVAPICH2; Intel MPI and MPICH (Hydra); PALS of Cray; Slurm.  Not SLURM_NTASKS: a batch script
 * has that too, where it is itself one task.
 */
#define VT_LAUNCHERS(X)                                                                            \
	X("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK")                                          \
	X("horovodrun", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK")                      \
	X("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")  \
	X("mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK")     \
	X("mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID")                                    \
	X("pals", "PALS_RANKID", "", "PALS_LOCAL_RANKID")                                          \
	X("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")

/* A variable's value, or NULL.  The recorder reads a copy: getenv() races with the program. */
typedef const char *(*vt_launchers_get_fn)(const char *name);

/* The texts are the environment's. */
struct vt_launcher {
	const char *name;	/* NULL: no launcher started this process */
	const char *rank;
	const char *world_size; /* NULL: not known */
	const char *local_rank; /* NULL: not known */
};

void vt_launchers_find(struct vt_launcher *launcher, vt_launchers_get_fn get);

/* One of several processes, as far as its launcher says. */
int vt_launchers_is_one_of_many(const struct vt_launcher *launcher);

/*
 * What processes of one start have in common and those of another one have not, as far as
 * launchers say: "" where they say nothing.
 */
void vt_launchers_job(char job[VT_LAUNCHERS_MAX_JOB], vt_launchers_get_fn get);

/* Whether outputs of this pattern (recorder_options.h) contain the rank, or a variable. */
int vt_launchers_is_named_by(const char *pattern);

#endif
