/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: what answers a mock of --net stub by a command of the caller
 *
 * Why here, and how.  Who plays the mocks reads what the payload sends and is therefore a process that
 * can start nothing, open nothing and connect to nothing (tools/netd_confine.c); it hands a request
 * over by a lane (netns/stub_lane.h), and takes what the command printed back as bytes that it reads as
 * suspiciously.  The supervisor starts the command, but never runs it among the payload's namespaces,
 * nor beside itself: each request is a run of its own by another menace-run, with a sandbox of its own,
 * no network, and limits.  So a command that a request has turned against its author holds what any
 * program in a sandbox holds, and ends as one does: with all that it started, by its time, its output,
 * its memory, its number of processes, and with the supervisor, however that dies.
 *
 * What of the request reaches the command:
 *
 *   standard input   the request as it came, then its body without its framing
 *   environment      MENACE_MOCK  the target of the mock, as the caller wrote it
 *                    MENACE_METHOD, MENACE_URL, MENACE_HOST, MENACE_PORT, MENACE_PATH, MENACE_QUERY
 *                    MENACE_BODY_BYTES  size of the body, which ends the input
 *
 * The names are these and no others, the host is the mock's own, and method and URL have printable ASCII
 * without blanks.  Words of the command are never made of the request.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_commands;
struct mr_error;
struct mr_mocks;
struct mr_run;

/* fds gets the other ends of the lanes, MR_STUB_LANES, which are the caller's.  The mocks are borrowed.
 * MR_E_KERNEL: no run can be made from here. */
int mr_commands_new(struct mr_run *run, const struct mr_mocks *mocks, int *fds,
		    struct mr_commands **ret, struct mr_error *err);
/* The payload is gone: end all that run.  NULL is accepted. */
void mr_commands_stop(struct mr_commands *commands);
/* menace-netd's word on what mock i's command printed; why NULL: n in all were no answer. */
void mr_commands_unusable(struct mr_commands *commands, size_t i, const char *why);
void mr_commands_count_unusable(struct mr_commands *commands, size_t i, uint64_t n);
/* Of mock i: {command, runs, failed, failures: {kind: {count, last}}}; new reference. */
struct json_t *mr_commands_to_json(const struct mr_commands *commands, size_t i);
/* Tell the log of commands that failed. */
void mr_commands_tell(const struct mr_commands *commands);
/* NULL is accepted; returns NULL. */
struct mr_commands *mr_commands_free(struct mr_commands *commands);
