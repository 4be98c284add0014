/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixture: what a step finds when it begins
 *
 * A stage is a folder in which the files of all steps stand ready; runs show it and
 * never change it, so any number of them can share one.
 *
 *   base/          what a shared workspace begins as
 *   N/work/        the workspace of step N, if it has one of its own that is not
 *                  simply the source folder
 *   N/files/       its own files, where the workspace is shared
 *   N/mock.K       its K-th mocked file
 *   N/stdin        its standard input
 *   N/snippet      its snippet, for the combined run
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_flow;

/* Fill an empty folder. */
int mr_fixture_stage(const struct mr_flow *flow, const char *stage, struct mr_error *err);
/* Add to the request of step n what the stage has for it: mocked files and input, and the workspace
 * unless it is shared. */
void mr_fixture_show(const struct mr_flow *flow, size_t n, const char *stage, struct json_t *spec);
/* Add a mount that shows source at dest, read-only. */
void mr_fixture_mount(struct json_t *spec, const char *source, const char *dest);
/* The request's object "sandbox", made if missing; borrowed. */
struct json_t *mr_fixture_sandbox(struct json_t *spec);
/* Make a folder, open it; it may be there already. */
int mr_fixture_folder(const char *path, int *ret, struct mr_error *err);
/* Write contents by their paths into a folder. */
int mr_fixture_write(const struct json_t *files, int folder_fd, struct mr_error *err);
