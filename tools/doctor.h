/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor: what this host gives to a sandbox, found by using it
 *
 * doctor.def is the list.  A probe runs in a child of its own with a time limit: whatever it
 * makes (namespaces, filters, detached mounts) goes with that child, and what kills it is an
 * answer too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

enum mr_doctor_state { MR_DOCTOR_OK, MR_DOCTOR_DEGRADED, MR_DOCTOR_MISSING };

struct mr_doctor_answer {
	enum mr_doctor_state state;
	int errnum; /* of the refusal; 0: none */
	bool lacks_rights; /* the caller does, not the kernel */
	char detail[200]; /* what was found, or why not; "" : nothing to say */
};

struct mr_doctor_check;
typedef void mr_doctor_fn(const struct mr_doctor_check *check, struct mr_doctor_answer *answer);

/* Who cannot do without it. */
enum mr_doctor_need {
	MR_DOCTOR_EVERY, /* a run with nothing but defaults */
	MR_DOCTOR_ROOT, /* such a run of root */
	MR_DOCTOR_USER, /* such a run of anybody else */
	MR_DOCTOR_SOME, /* only runs that ask for it */
};

struct mr_doctor_check {
	const char *group, *name;
	mr_doctor_fn *probe;
	unsigned long number;
	const char *word;
	enum mr_doctor_need need;
	const char *consequence, *fix;
};

/* For probes: fill the answer. */
void mr_doctor_say_ok(struct mr_doctor_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void mr_doctor_say_degraded(struct mr_doctor_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Missing: errnum, and its text where fmt says nothing. */
void mr_doctor_say_missing(struct mr_doctor_answer *answer, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The errno and message of a call that failed. */
void mr_doctor_say_error(struct mr_doctor_answer *answer, const struct mr_error *err);

/* fork(2); the child ends with whoever made it, whatever ends that.  Entering a user namespace
 * takes that from it (commit_creds() of the kernel). */
pid_t mr_doctor_fork(void);

/* The probes that doctor.def names. */
#define CHECK(group, name, probe, ...) mr_doctor_fn mr_doctor_##probe;
#include "tools/doctor.def"
#undef CHECK
/* Of the row of bpf/probes.def with that number. */
mr_doctor_fn mr_doctor_probe_row;

/* Try the programs for the kernel, all at once; the probes about them then know.  For a child. */
void mr_doctor_gather(void);
/* Before that, in the parent: memory that both share. */
int mr_doctor_prepare(struct mr_error *err);
