/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notify: paths
 *
 * What a call is about to do to which path, as far as can be told from outside.
 * It only decides what is recorded: the kernel decides what is allowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/supervise/notify.h"

#define MR_NOTIFY_PATH_MAX 4096

/* notify_paths.c.  Say what the policy refuses of the call's paths, and tell the recorder of them.
 * is_ours: the exec that starts the program, which no policy judges. */
void mr_notify_judge_path(struct mr_notify *notify, const struct mr_seccomp_rule *rule,
			  bool is_ours);
/* Say why an open is about to fail, and what would allow it. */
void mr_notify_explain_open(struct mr_notify *notify, const char *syscall_name);
/* The paths of a spec's policy as they are inside, links followed, for mr_notify_judge_path(). */
void mr_notify_take_rules(struct mr_notify *notify, const struct mr_spec *spec);
void mr_notify_drop_rules(struct mr_notify *notify);

/* notify.c.  Is the notification still waiting, and its pid its sender's? */
bool mr_notify_is_valid(const struct mr_notify *notify);
/* Bytes at addr of the caller; those read, or -1. */
ssize_t mr_notify_read_memory(const struct mr_notify *notify, uint64_t addr, void *buf,
			      size_t size);
/* A string that may end right before an unmapped page. */
bool mr_notify_read_string(const struct mr_notify *notify, uint64_t addr, char *buf, size_t size);
/* Complete a denial and add it. */
void mr_notify_record(struct mr_notify *notify, struct mr_denial *denial);
void mr_notify_let_pass(struct mr_notify *notify);
