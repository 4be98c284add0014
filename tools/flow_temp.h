/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary folders of workflows that are kept in no store
 *
 * Each is locked by whoever runs it.  One that nobody holds was left by a process that
 * was killed, and goes when the next one is made.
 */
#pragma once

struct mr_error;

/* A new one, locked: its path (malloc'd), and the descriptor that holds it. */
int mr_flow_temp_new(char **ret_path, int *ret_lock_fd, struct mr_error *err);
