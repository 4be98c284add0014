/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: which system calls the payload may make
 *
 * The policy is syscalls.def; the programs are compiled from it at build time
 * (tools/gen-seccomp.c, with libseccomp) so that a run loads bytes and computes
 * nothing.  A denied call is answered by the supervisor (SECCOMP_RET_USER_NOTIF)
 * with the errno of its row, so every denial can be recorded; where no listener
 * can be had the same program answers the errno itself.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_policy;

enum mr_seccomp_net {
	/* connect, bind, sendto with an address and internet sockets are the supervisor's to judge */
	MR_SECCOMP_NET_DENY,
	MR_SECCOMP_NET_OWN, /* internet sockets are: the namespace is the sandbox's own */
	MR_SECCOMP_NET_ALLOW,
	MR_SECCOMP_NETS_,
};

struct mr_seccomp_policy {
	unsigned int level; /* 1..5 */
	enum mr_seccomp_net net;
	bool watch_opens; /* open-family calls go to the supervisor (level 5, --explain-denials) */

	/* From here on: all zero without a policy document and without recording. */
	const struct mr_policy *document; /* takes calls away; NULL: none */
	bool watch_paths; /* calls with paths go to the supervisor: the document has some */
	bool record; /* every call that the level allows goes to the supervisor */
	bool watch_writes; /* calls that write to files go to the supervisor */
	int own_fd; /* where our own code sends the listener: no number the payload can have */
	const struct sock_fprog *program; /* of mr_seccomp_narrow(); NULL: the compiled one */
};

/* Does this policy need a program of its own? */
bool mr_seccomp_is_narrowed(const struct mr_seccomp_policy *policy);
/* Does that program let a sendmsg pass by the number of its descriptor? */
bool mr_seccomp_needs_own_fd(const struct mr_seccomp_policy *policy);
/* The program of a narrowed policy: ours in front, that of the level behind it, so that what is
 * allowed is what both allow.  malloc'd, for mr_seccomp_free(). */
struct sock_fprog *mr_seccomp_narrow(const struct mr_seccomp_policy *policy);
struct sock_fprog *mr_seccomp_free(struct sock_fprog *program); /* NULL */

/* The program of a policy: its own, or the compiled one in static storage. */
const struct sock_fprog *mr_seccomp_program(const struct mr_seccomp_policy *policy);

/* What tools/gen-seccomp.c wrote: [level - 1][net][watch_opens]. */
#define MR_SECCOMP_LEVELS 5
extern const struct sock_fprog mr_seccomp_programs[MR_SECCOMP_LEVELS][MR_SECCOMP_NETS_][2];

/* No program is longer (checked at build time), so that one fits on a small stack. */
#define MR_SECCOMP_LEN_MAX 512
/* The same with ours in front of it: a jump, an answer and now and then a long jump for each
 * stretch of call numbers, of which there are at most as many as numbers. */
#define MR_SECCOMP_NARROWED_MAX 2304

/* The low 16 bits of a USER_NOTIF return, unused by the kernel, are what the call gets where
 * no listener can be had: an errno, or one of these. */
enum {
	MR_SECCOMP_ALONE_ALLOW = 0, /* NET, SOCKET, OPEN: only the record is lost */
	MR_SECCOMP_ALONE_REFUSE = 0x0fff, /* EXEC: the policy cannot be enforced, loading fails */
};

/* sha256 of the program's bytes, 64 hex digits plus NUL. */
void mr_seccomp_hash(const struct sock_fprog *prog, char ret_hex[65]);

/* In the payload-to-be, with no_new_privs set: install the program.  ret_listener gets the
 * notification descriptor (close-on-exec).  Where another listener is already above us
 * (EBUSY) or the kernel has none, a copy that answers by itself is installed (the errno of
 * the row; what would only be watched is allowed, see MR_SECCOMP_ALONE_*), *ret_listener is -1
 * and the return value is 1.  A program of level 4 or 5, one that records and one whose policy
 * document refuses what our own code needs until the exec cannot do without a listener: error.
 * No allocation; uses 18 KiB of stack.  Async-signal-safe. */
int mr_seccomp_load(const struct sock_fprog *prog, int *ret_listener, struct mr_error *err);

/* What the supervisor does with a notification. */
enum mr_seccomp_verdict {
	MR_SECCOMP_DENY, /* answer the row's errno and record a denial */
	MR_SECCOMP_NET, /* look at the address: AF_INET(6) are denied, others continue */
	MR_SECCOMP_OPEN, /* log the path, continue */
	MR_SECCOMP_EXEC, /* level 4 and up: the first one continues, later ones are denied */
	MR_SECCOMP_PATH, /* look at the path, continue: Landlock decides */
	MR_SECCOMP_RECORD, /* record the call, continue */
	MR_SECCOMP_SOCKET, /* an internet socket is made: refuse it, or have it watched, continue */
};

/* What a call does with a path: rows PATH of syscalls.def. */
enum mr_path_use { MR_PATH_OPEN, MR_PATH_EXEC, MR_PATH_WRITE, MR_PATH_MAKE, MR_PATH_REMOVE };
struct mr_seccomp_path {
	int nr;
	int dir; /* number of the argument that a relative path begins at; -1: working directory */
	int path; /* number of the argument */
	enum mr_path_use use;
};
const struct mr_seccomp_path *mr_seccomp_paths(size_t *ret_n);
/* Does one of them open a file? */
bool mr_seccomp_is_open(int nr);

/* A call that writes to a file by its descriptor, or waits for it to be written. */
struct mr_seccomp_write {
	int nr;
	int fd; /* number of the argument that is the file */
	int offset; /* ... that is where; -1: where the file is */
	int size; /* ... that is how much; -1: it is not said in a register */
};
/* NULL: it is none. */
const struct mr_seccomp_write *mr_seccomp_write(int nr);

/* May the payload make this call at all at the level, whatever its arguments? */
bool mr_seccomp_level_allows(unsigned int level, unsigned int nr);

struct mr_seccomp_rule {
	const char *syscall; /* "mount"; "?" when unknown */
	enum mr_seccomp_verdict verdict;
	int errnum; /* for DENY; for the others where the supervisor refuses */
	const char *reason; /* one line: why it is denied */
	const char *set; /* the set of syscalls.def it is in, e.g. "mount", "keyring" */
	unsigned int allowed_up_to; /* highest level that allows it; 0: none does */
};
/* Rule for a notified call; never NULL, nor is its reason. arch is seccomp_data.arch. */
const struct mr_seccomp_rule *mr_seccomp_rule(const struct mr_seccomp_policy *policy, uint32_t arch,
					      int nr);

/* The same with the arguments at hand, for the calls of which only some are denied (ioctl,
 * socket, clone, ...): errno and reason are those of the check that matched.  Arguments that
 * are judged are registers, so what is read here is what the kernel will use. */
struct seccomp_data;
const struct mr_seccomp_rule *mr_seccomp_rule_for(const struct mr_seccomp_policy *policy,
						  const struct seccomp_data *data);
