/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder: whole folders, by descriptors
 *
 * What is in them was made by programs that nobody trusts: no link is followed, and
 * neither devices nor sockets nor fifos are copied.
 */
#pragma once

#include <stdint.h>

struct mr_error;

/* A new folder of nobody else's where temporary files go, menace-NAME.XXXXXX; its path, malloc'd. */
int mr_folder_temporary(const char *name, char **ret, struct mr_error *err);
/* Copy what is in from_fd into to_fd, over what is there: files and links are replaced, folders
 * joined.  skip: a name at the top that is left out, or NULL. */
int mr_folder_copy(int from_fd, int to_fd, const char *skip, struct mr_error *err);
struct mr_folder_size {
	uint64_t bytes; /* that it takes */
	uint64_t files; /* all but folders */
	int64_t changed_us; /* the folder itself or what is in it at the top, since 1970 */
};
/* What is in a folder below parent_fd, name one component.  What goes meanwhile does not count. */
int mr_folder_measure(int parent_fd, const char *name, struct mr_folder_size *ret,
		      struct mr_error *err);
/* A file or a tree below parent_fd, name one component; what is not there is no error. */
int mr_folder_remove(int parent_fd, const char *name, struct mr_error *err);
/* A folder that was made to keep what changed (menace-run --keep-changes): remove what it lists, copy
 * the rest.  The same again changes nothing more. */
int mr_folder_apply_kept(int kept_fd, int to_fd, struct mr_error *err);
