/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk: reading files that an untrusted program left behind
 *
 * Entries are opened one name at a time from a directory descriptor, as O_PATH:
 * no symbolic link is followed, no mount point is crossed, nothing is read, so
 * a fifo cannot block and a device is not touched.  What is to be read is opened
 * again from that descriptor after its type was seen.
 *
 * "Borrowing rights" is for owners without privilege: a payload may have taken
 * all rights off its own files.  The missing owner bit is set for the length of
 * one open and taken off again.  Only for trees that are ours to change.
 *
 * How long a walk takes is the program's choice, too: who shares the thread with it
 * gets turns.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct mr_turns {
	void (*give)(void *owner); /* must not touch the trees, nor what is made of them */
	void *owner;
	uint64_t spent; /* since the last turn */
};
/* Work was done: bytes read, and MR_TURNS_ENTRY for an entry that was looked at.  Gives a turn
 * when it was enough since the last one.  NULL: nobody waits. */
#define MR_TURNS_ENTRY 4096
void mr_turns_spend(struct mr_turns *turns, uint64_t bytes);

enum mr_walk_rights {
	MR_WALK_AS_IS, /* the tree is not ours: change nothing */
	MR_WALK_BORROW, /* borrow the owner's rights where they are missing */
};

/* O_PATH descriptor of dir_fd/name, name one component; ret_st is what it is.
 * Returns the descriptor or a negative errno: -EXDEV for a mount point. */
int mr_walk_open(int dir_fd, const char *name, enum mr_walk_rights rights, struct stat *ret_st);

/* Open for reading what path_fd (O_PATH) stands for, a regular file or a directory.
 * Returns the descriptor or a negative errno: -EINVAL for any other type. */
int mr_walk_reopen(int path_fd, enum mr_walk_rights rights);

/* The same as a stream of entries; NULL with errno set. */
DIR *mr_walk_opendir(int path_fd, enum mr_walk_rights rights);
/* Next name but "." and ".."; NULL at the end (errno 0) or on error (errno set).  Valid until
 * the next call. */
const char *mr_walk_next(DIR *dir);

/* Value of an extended attribute; its length, or a negative errno. */
ssize_t mr_walk_xattr(int path_fd, const char *name, enum mr_walk_rights rights, char *ret,
		      size_t size);

/* Target of the symbolic link that path_fd is: malloc'd with a NUL after it, or NULL with
 * errno set.  *ret_size is its length. */
char *mr_walk_readlink(int path_fd, size_t *ret_size);
