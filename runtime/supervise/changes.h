/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes: what a run did to its workspace
 *
 * Read off the two directories of an overlay: `upper` holds what was written,
 * `lower` what was there before.  The overlay itself need not be mounted any
 * more; redirect_dir and metacopy are expected to be off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/hash.h"

struct json_t;
struct mr_error;
struct mr_turns;

enum mr_change_kind {
	MR_CHANGE_ADDED,
	MR_CHANGE_MODIFIED, /* other content, link target or device number */
	MR_CHANGE_DELETED, /* a directory is one row; what was in it is not listed */
	MR_CHANGE_TYPE_CHANGED, /* say, a directory in the place of a file */
	MR_CHANGE_METADATA, /* same content: mode, owner or time, see differs */
	MR_CHANGE_UNREADABLE, /* cannot be told, see errnum */
	MR_CHANGE_KINDS_,
};

enum mr_change_type {
	MR_CHANGE_FILE,
	MR_CHANGE_DIR,
	MR_CHANGE_SYMLINK,
	MR_CHANGE_FIFO,
	MR_CHANGE_SOCKET,
	MR_CHANGE_DEVICE,
	MR_CHANGE_TYPES_,
};

/* In which respect an entry that was there before differs. */
#define MR_CHANGE_CONTENT 0x1U
#define MR_CHANGE_MODE 0x2U
#define MR_CHANGE_OWNER 0x4U
#define MR_CHANGE_MTIME 0x8U

struct mr_change {
	char *path; /* relative to the workspace; any bytes but NUL */
	enum mr_change_kind kind;
	enum mr_change_type type; /* now; of what was deleted, for DELETED */
	enum mr_change_type old_type; /* TYPE_CHANGED only */
	unsigned int differs; /* MODIFIED and METADATA */
	bool content_compared; /* MODIFIED by its size or by a comparison, not by assumption */
	uint64_t size; /* regular files */
	uint32_t mode; /* permission bits, 07777 */
	char sha256[MR_HASH_HEX_SIZE]; /* regular files; "" when absent */
	const char *sha256_why; /* why it is absent; static text or NULL */
	char *link_target; /* symbolic links; any bytes but NUL */
	int errnum; /* what could not be read, or 0 */
};

/* Who takes each change as it is found, however few rows are kept.  Entries of a directory come
 * behind the directory's own change, and all of them before what is beside the directory. */
struct mr_changes_sink {
	/* c->path and what else it points to is the scan's.  Negative, with the error of the
	 * caller of the scan filled, ends the scan with that. */
	int (*take)(void *owner, const struct mr_change *c);
	/* What is in the directory path was not looked at, or not all of it.  errnum may be 0. */
	void (*miss)(void *owner, const char *path, const char *why, int errnum);
	void *owner;
};

struct mr_changes_opts {
	size_t max_entries; /* rows */
	size_t max_path_bytes; /* paths and link targets of all rows together */
	uint64_t max_visited; /* directory entries looked at; then the scan ends */
	unsigned int max_depth; /* levels of directories; two descriptors are held per level */
	uint64_t hash_max_bytes; /* largest file to hash */
	uint64_t hash_total_max_bytes; /* bytes hashed in one scan */
	bool userxattr; /* the overlay was mounted with userxattr: its marks are user.overlay.*,
			   which otherwise the payload could forge; else trusted.overlay.* */
	struct mr_turns *turns; /* for whoever waits meanwhile, or NULL */
	const struct mr_changes_sink *sink; /* or NULL */
};

#define MR_CHANGES_OPTS_INIT                                                                      \
	{                                                                                         \
		.max_entries = 10000, .max_path_bytes = 8U << 20, .max_visited = 1U << 20,        \
		.max_depth = 256, .hash_max_bytes = 64U << 20, .hash_total_max_bytes = 512U << 20 \
	}

struct mr_changes {
	struct mr_change *rows; /* by path, bytewise: a directory comes before what is in it */
	size_t n_rows;
	uint64_t counts[MR_CHANGE_KINDS_]; /* exact unless incomplete, however few rows are kept */
	uint64_t unreadable; /* entries with an errnum */
	uint64_t visited;
	bool truncated; /* there are more changes than rows */
	bool incomplete; /* and not all were counted: max_visited or max_depth was reached */
};

/* Fill *ret (no need to initialise it).  lower_fd -1: nothing was there before.  opts NULL:
 * MR_CHANGES_OPTS_INIT.  The mode of the workspace's own directory is not looked at.  What
 * cannot be read is a row; an error means that upper itself cannot be read. */
int mr_changes_scan(int upper_fd, int lower_fd, const struct mr_changes_opts *opts,
		    struct mr_changes *ret, struct mr_error *err);
void mr_changes_deinit(struct mr_changes *changes);

/* "added", "modified", "deleted", "type_changed", "metadata", "unreadable". */
const char *mr_changes_kind_name(enum mr_change_kind kind);
/* "file", "dir", "symlink", "fifo", "socket", "device". */
const char *mr_changes_type_name(enum mr_change_type type);

/* New reference:
 *   counts      {kind: number}
 *   unreadable, truncated, incomplete
 *   entries     [{path, kind, type, mode: "0644", ...}], and where they apply old_type, size,
 *               sha256 (null with sha256_why), differs ["content", "mode", "owner", "mtime"],
 *               content_compared: false, target, errno.  A path or target that is not UTF-8 is
 *               shown escaped, with its exact bytes in path_base64 or target_base64. */
struct json_t *mr_changes_to_json(const struct mr_changes *changes);
