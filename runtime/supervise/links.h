/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: paths of the caller that may lead through a folder the payload writes
 *
 * What a run writes for its caller is opened before the program starts and held, so
 * that what the program does meanwhile to any name on the way changes nothing.
 */
#pragma once

struct mr_error;
struct mr_spec;

/* open(2) of a path of the caller's, a new file with mode 0644, that follows no link below a folder
 * which a mount of the spec shows writable.  The descriptor, or -1 with errno: ELOOP for such a
 * link. */
int mr_links_open(const struct mr_spec *spec, const char *path, int flags);
/* The folder that the last name of a path is in, opened in the same way, as a place only (O_PATH), and that name in
 * *ret_name, which is the caller's to free in any case.  -1 with errno. */
int mr_links_open_parent(const struct mr_spec *spec, const char *path, char **ret_name);
/* What the program reads, in *ret: the file of the spec, opened in the same way, which *ret_own has from
 * then on, or the caller's stdin_fd (-1: none).  A folder is refused.  0, or a negative errno with
 * MR_E_USAGE. */
int mr_links_open_input(const struct mr_spec *spec, int stdin_fd, int *ret, int *ret_own,
			struct mr_error *err);
/* A folder, made if it is missing, by a path that is opened in the same way and whose last name is
 * no link anywhere.  Its descriptor, readable, or a negative errno with MR_E_USAGE. */
int mr_links_make_folder(const struct mr_spec *spec, const char *path, struct mr_error *err);
