/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confine: files by paths that somebody else wrote, never outside of one folder
 *
 * A path is relative and has no "." or ".." in it; the kernel walks it (openat2) and
 * refuses every link on the way, whatever happens to the folder meanwhile.
 * Refusals are MR_E_USAGE and say "path escapes sandbox" where it would leave.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct mr_error;

/* By its text alone. */
int mr_confine_check(const char *path, struct mr_error *err);
/* A regular file below dir_fd up to max bytes, malloc'd with a NUL after it. */
int mr_confine_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size,
		    struct mr_error *err);
/* A folder below dir_fd, open for reading it. */
int mr_confine_open_folder(int dir_fd, const char *path, int *ret, struct mr_error *err);
/* A new file; folders on the way are made, a file that has the name is replaced. */
int mr_confine_write(int dir_fd, const char *path, const void *data, size_t size, mode_t mode,
		     struct mr_error *err);
/* A file or a whole tree; what is not there is no error. */
int mr_confine_remove(int dir_fd, const char *path, struct mr_error *err);
