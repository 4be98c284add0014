/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host has: is there something of that path on the host?
 *
 * The path is the payload's choice, and who looks has the deadlines of runs to keep: nothing is
 * mounted for the look, and no server is waited for.  What would need that is not there.
 */
#pragma once

#include <stdbool.h>

/* A whole path; a link at its end is something.  False before Linux 5.12, too. */
bool mr_host_has(const char *path);
