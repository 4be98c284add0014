/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template: a machine that has booted and has seen no run yet, kept in one file
 *
 * The file lies in the private state folder under the hash of all that it was made of; another
 * kernel, QEMU, build or size of machine has another name.  It is written under another name
 * and renamed when whole.  Each restore works on a copy in memory, so that nothing of one run
 * comes into the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/hash.h"

struct mr_error;

#define MR_TEMPLATE_RELEASE 64

struct mr_template {
	int memory_fd; /* memfd: the machine's memory, to be shared with QEMU; owned */
	int state_fd; /* memfd: what QEMU wrote of its devices; owned */
	int file_fd; /* what it is a copy of, which stays meanwhile; -1: none; owned */
	uint64_t memory_bytes;
	char key[MR_HASH_HEX_SIZE]; /* of that file */
	char release[MR_TEMPLATE_RELEASE]; /* of the guest's kernel */
};

#define MR_TEMPLATE_INIT                                       \
	{                                                      \
		.memory_fd = -1, .state_fd = -1, .file_fd = -1 \
	}

/* Both as memfds, that of the memory of this size and empty.  mr_template_close() in any case. */
int mr_template_new(struct mr_template *ret, uint64_t memory_bytes, struct mr_error *err);
void mr_template_close(struct mr_template *template);

/* The right to write into the folder, until the descriptor is closed; 1: another process has it. */
int mr_template_lock(int folder, int *ret, struct mr_error *err);
/* Before a machine is booted for one: the folder may lie in memory that others need. */
int mr_template_check_room(int folder, struct mr_error *err);
/* Keep it under this key, and of the others only the newest.  The lock is held. */
int mr_template_keep(int folder, const char key[MR_HASH_HEX_SIZE], const struct mr_template *made,
		     struct mr_error *err);
/* The one of this key, and room for a copy of it; 1: there is none.  Negative: at first sight it is damaged
 * or another's, and thrown away. */
int mr_template_open(int folder, const char key[MR_HASH_HEX_SIZE], uint64_t memory_bytes,
		     struct mr_template *ret, struct mr_error *err);
/* Make the copy, once.  Negative: it is damaged; mr_template_throw_away() is the caller's to do. */
int mr_template_fill(struct mr_template *template, struct mr_error *err);
/* Remove all that nobody uses, and what a killed maker has left; while one is made, none.  dry_run: only
 * count.  Their number; *ret_used gets that of the others. */
int mr_template_drop(int folder, bool dry_run, size_t *ret_used, struct mr_error *err);
void mr_template_throw_away(int folder, const char key[MR_HASH_HEX_SIZE]);
