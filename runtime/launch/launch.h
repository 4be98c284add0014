/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch: from a spec to a confined process
 *
 * mr_launch_start() makes the namespaces and the sandbox's init, which builds the
 * root file system, confines itself and forks the payload; the payload confines
 * itself and waits.  Everything after the start is said through sync_fd (sync.h)
 * and nothing runs before mr_launch_go().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/launch/seccomp.h"

struct mr_error;
struct mr_layer;
struct mr_spec;
struct mr_cgroup;

/* Who the payload is, outside and inside. */
struct mr_ids {
	bool userns; /* a user namespace is made */
	uid_t host_uid; /* as the host's kernel sees it */
	gid_t host_gid;
	uid_t uid; /* as the payload sees it; equal to host_uid without a user namespace */
	gid_t gid;
};

struct mr_launch_opts {
	const struct mr_spec *spec;
	const struct mr_cgroup *cgroup; /* NULL: none could be had */
	unsigned int slot; /* 0..63, distinct among the runs of this process at a time */
	bool gives_netns; /* the caller gives a network namespace where a prepared one will do */
	bool keeps_root; /* the caller has use for a copy of the root, see mr_launch_shares_root() */
	int kept_root; /* such a copy, which this run uses up, or -1 */
	const struct mr_layer *layer; /* over the workspace, or NULL */
	int stdio[3]; /* the payload's ends; -1 for stdin: nothing to read; with a tty all -1 */
};

/* Namespaces made, in the receipt's order. */
enum mr_ns {
	MR_NS_USER,
	MR_NS_MNT,
	MR_NS_PID,
	MR_NS_IPC,
	MR_NS_UTS,
	MR_NS_CGROUP,
	MR_NS_NET,
	MR_NS_TIME,
	MR_NS_COUNT_
};
const char *mr_ns_name(enum mr_ns ns); /* as under /proc/PID/ns */

struct mr_launched {
	pid_t init_pid; /* of the sandbox's pid 1, in our namespace */
	int pidfd; /* of it */
	int sync_fd; /* non-blocking for mr_sync_recv(MSG_DONTWAIT) */
	int go_fd; /* write end of the go pipe */
	struct mr_ids ids;
	struct mr_seccomp_policy policy;
	uint64_t namespaces; /* bit per enum mr_ns that was asked of the kernel */
	bool no_time_ns; /* the kernel has none, which the spec tolerates */
	char no_idmap[200]; /* why a folder is not shown as the payload's own, likewise; or "" */
	uint64_t clone_ns; /* time clone3 took */
	bool takes_netns; /* it has none before mr_launch_give_netns(), for which it waits */
	struct sock_fprog *narrowed; /* of policy.program, owned; or NULL */
	uint32_t *progress; /* memory shared with the child, see mr_launched_killed(); or NULL */
};

/* Check what can be known before anything is started: paths exist, the program's file is
 * readable. MR_E_USAGE naming the item. */
int mr_launch_check(const struct mr_spec *spec, struct mr_error *err);
/* 0, or an error with nothing left behind.  *ret is closed by mr_launched_deinit(). */
int mr_launch_start(const struct mr_launch_opts *opts, struct mr_launched *ret,
		    struct mr_error *err);
/* The network namespace that it waits for, which stays the caller's: the sandbox is built meanwhile. */
int mr_launch_give_netns(const struct mr_launched *launched, int netns_fd, struct mr_error *err);
/* Let the payload exec. */
int mr_launch_go(struct mr_launched *launched, struct mr_error *err);
/* Have init send this signal to the payload's process group. */
int mr_launch_signal(const struct mr_launched *launched, int sig, struct mr_error *err);
/* Kill init, and with it everything in its pid namespace, and wait for it. */
void mr_launched_kill(struct mr_launched *launched);
void mr_launched_deinit(struct mr_launched *launched);

/* Names of the child's steps, in order; NULL after the last. */
const char *mr_launch_step_name(size_t i);
/* The error of a set-up in which `who`, the sandbox's init or the program's process, was killed: it names
 * the step that was begun last.  Negative errno. */
int mr_launched_killed(const struct mr_launched *launched, const char *who, struct mr_error *err);
/* A failure of ours during set-up may only follow from the end of the sandbox's side: then *err becomes that
 * side's own error.  Takes the messages that are waiting. */
void mr_launched_find_cause(const struct mr_launched *launched, struct mr_error *err);
/* The ids a run of this spec would get. */
int mr_launch_ids(const struct mr_spec *spec, unsigned int slot, struct mr_ids *ret,
		  struct mr_error *err);
/* With net.mode=stub: where the payload finds the authority's certificate, and the folder of it in
 * the file system of the writable places, to which it is to be written before the start. */
#define MR_LAUNCH_MOCKS_DIR "/run/mocks"
#define MR_LAUNCH_MOCKS_POOL "mocks"
#define MR_LAUNCH_MOCKS_CA "ca.pem"
/* What else the kernel runs when it runs the file fd (of any kind, O_PATH is enough): the
 * interpreter of its first line, of which the same can be asked, or its loader, which is the last.
 * Reads a hostile file and never waits. */
#define MR_PROGRAM_PATH_MAX 4096
enum mr_program_next { MR_PROGRAM_NOTHING, MR_PROGRAM_INTERPRETER, MR_PROGRAM_LOADER };
enum mr_program_next mr_program_interpreter(int fd, char ret[MR_PROGRAM_PATH_MAX]);

/* Is the root, but for what is mounted on it for each run, that of any other run with these ids, this
 * host name and this slot?  Then a copy of it, a detached mount tree, comes with BUILT for a later one:
 * taken before there was a payload, read-only, and no two runs have it at a time. */
bool mr_launch_shares_root(const struct mr_spec *spec, const struct mr_ids *ids);

/* The number at which our own code holds its end of the sync socket where a program has to name it. */
int mr_launch_own_fd(const struct mr_spec *spec, unsigned int slot);

/* The seccomp policy of a spec.  Of a narrowed one own_fd and program are still to be set. */
struct mr_seccomp_policy mr_launch_policy(const struct mr_spec *spec);
