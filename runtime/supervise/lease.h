/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: what a crash would leave is written down before it is made
 *
 * A lease is a file named after the run, locked (OFD) by its supervisor for as long
 * as the run has anything outside of its own processes: the control groups and the
 * folder of files of that name.  A lease nobody holds belongs to a dead supervisor; the next start removes
 * what it names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mr_error;
struct mr_cgroup_host;

#define MR_RUN_ID_SIZE 27 /* 26 letters and digits, NUL */

/* A new run id: 48 bits of time, 80 random bits, in order of time. */
void mr_lease_new_id(char ret_id[MR_RUN_ID_SIZE]);

/* The folder of leases (/run/menace/leases as root, else below XDG_RUNTIME_DIR or /tmp), made
 * if missing, refused when it is not ours alone. Descriptor or negative errno. */
int mr_lease_open_dir(struct mr_error *err);
/* Its path, whether it is there or not. */
int mr_lease_folder(char *ret, size_t size);
/* What menace-netd is in: the group of the run's name with this behind it, swept like that. */
#define MR_LEASE_NETD_SUFFIX ".netd"
#define MR_LEASE_NETD_SIZE (MR_RUN_ID_SIZE + sizeof(MR_LEASE_NETD_SUFFIX) - 1)
void mr_lease_netd_name(const char *id, char ret[MR_LEASE_NETD_SIZE]);
/* As that, of the processes that a failure mode runs beside the payload. */
#define MR_LEASE_SPIKE_SUFFIX ".load"
#define MR_LEASE_SPIKE_SIZE (MR_RUN_ID_SIZE + sizeof(MR_LEASE_SPIKE_SUFFIX) - 1)
void mr_lease_spike_name(const char *id, char ret[MR_LEASE_SPIKE_SIZE]);
/* As that, of the menace-netd that delays packets. */
#define MR_LEASE_RELAY_SUFFIX ".relay"
#define MR_LEASE_RELAY_SIZE (MR_RUN_ID_SIZE + sizeof(MR_LEASE_RELAY_SUFFIX) - 1)
void mr_lease_relay_name(const char *id, char ret[MR_LEASE_RELAY_SIZE]);
#define MR_LEASE_NAME_MAX 256 /* of program and name each; what is longer is cut */
/* For those who look at running sandboxes. */
struct mr_lease_note {
	const char *program, *name; /* NULL: none */
	uint64_t begin_ns; /* CLOCK_BOOTTIME */
};
/* Take the lease of a run whose groups will be at the BASE directories of host: descriptor that
 * holds it, or negative errno. */
int mr_lease_take(int dir_fd, const char *id, const struct mr_cgroup_host *host,
		  const struct mr_lease_note *note, struct mr_error *err);
/* Give it back: remove the file, close the descriptor; returns -1. */
int mr_lease_release(int dir_fd, const char *id, int lease_fd);
/* Remove what dead supervisors left.  The number of runs swept, or negative errno; a run that
 * cannot be swept is left for the next start and counted in *ret_failed. */
int mr_lease_sweep(int dir_fd, size_t *ret_failed, struct mr_error *err);
/* The same at the start of a run, which goes on whatever is left: the log tells.  0 or negative errno. */
int mr_lease_sweep_at_start(int dir_fd, struct mr_error *err);

/* Files that a container of the run is shown: a folder of its name beside the leases.  It goes with a dead
 * lease, too: who looks for the container later finds it by its labels. */
#define MR_LEASE_FILES_PREFIX "docker-"
/* Remove it and what is in it, also of one level of folders.  0, also where there is none. */
int mr_lease_remove_files(int dir_fd, const char *id, struct mr_error *err);

/* How many it would sweep: their number, or negative errno. */
int mr_lease_count_dead(int dir_fd, struct mr_error *err);

/* What the lease of a living run says; to be believed no more than its owner. */
struct mr_lease_info {
	char id[MR_RUN_ID_SIZE];
	uid_t uid; /* whose it is */
	pid_t pid; /* of the supervisor, as he sees himself */
	uint64_t begin_ns; /* CLOCK_BOOTTIME */
	char *bases; /* for mr_cgroup_host_at() */
	char *program, *name; /* any bytes; name may be NULL */
};
/* 0, or 1 when this is no lease that somebody holds.  *ret is given back by
 * mr_lease_info_deinit(). */
int mr_lease_read(int dir_fd, const char *id, struct mr_lease_info *ret);
void mr_lease_info_deinit(struct mr_lease_info *info);
/* May its supervisor live?  No only where there is no such lease or nobody holds it: before anything of a
 * run is removed this is asked, for a lease that could not be looked at now, or says what only another
 * version reads, is no dead one's. */
bool mr_lease_may_live(int dir_fd, const char *id);
