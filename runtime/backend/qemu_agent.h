/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent: one machine with a disk of its own, from its start to what its agent told
 *
 * The image's own agent has the second serial port.  It says one line, "menace-agent 1", and from
 * then on there are only the frames of qemu_wire.h, both ways:
 *
 *   silent     the line is waited for; what comes before it is thrown away
 *   ordered    the agent has SPEC (pieces of the order) and START; it answers STARTED or FAIL
 *   running    OUT and ERR in any order, RESULT, then END
 *   draining   the machine is gone, and what the program wrote is passed on, at its reader's pace,
 *              until a signal ends the wait for him
 *
 * The order is one JSON document, {"schema": "menace.order/1", "argv": [...], "env": ["K=V" ...],
 * "cwd": PATH or null, "time_ns": nanoseconds since 1970}; the result another,
 * {"exit": 0 to 255} or {"signal": 1 to 64}.
 *
 * The guest is hostile: nothing it says or does not say keeps this from ending in time, and no
 * more is kept of it than one frame, the captures of two streams, and one small result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/qemu_disk_machine.h"
#include "runtime/base/error.h"
#include "runtime/supervise/capture.h"

struct mr_errand;
struct mr_spec;

#define MR_AGENT_GREETING "menace-agent "
#define MR_AGENT_VERSION "1"
#define MR_AGENT_NOISE_MAX 65536 /* bytes before the line; firmware and boot loaders talk */

struct mr_agent_opts {
	const struct mr_errand
		*errand; /* nobody may want it any more; told of a wait for the reader */
	const struct mr_spec *spec; /* limits, and what of the output is kept */
	const char *order; /* JSON */
	struct mr_disk_machine_opts
		machine; /* its descriptors for the guest and log are made here */
	const struct mr_cgroup *group; /* for QEMU; NULL: none */
	int stdout_fd, stderr_fd; /* the caller's; -1: none */
	int signals_fd; /* signalfd */
	uint64_t firmware_ns; /* for the first byte of the firmware; 0: as long as for the agent */
};

enum mr_agent_end {
	MR_AGENT_RESULT, /* see wait_status */
	MR_AGENT_FAILED, /* see error */
	MR_AGENT_NONE, /* the guest has no agent, as error says */
	MR_AGENT_WALL, /* past limits.wall_ms, which begins with the machine */
	MR_AGENT_OUTPUT, /* more output than limits.output_bytes */
	MR_AGENT_KILLED, /* a signal asked for it */
	MR_AGENT_ABANDONED,
};

#define MR_AGENT_CONSOLE_TAIL 4096
struct mr_agent_report {
	enum mr_agent_end end;
	struct mr_error error;
	bool started; /* the program may have begun */
	bool is_mute; /* QEMU ran, and ended by itself or took too long before any word */
	int user_signal; /* that asked for an end */
	int wait_status; /* of the program, as waitpid() would tell it */
	struct mr_capture out, err;
	bool output_lost; /* the caller's streams failed, which was said: not all was passed on */
	struct mr_capture console; /* its tail alone */
	uint64_t greeted_ns, started_ns; /* since the start of the machine; 0: not reached */
	bool has_exit;
	int qemu_status; /* of QEMU, if it ended by itself */
};

/* Run it to its end; QEMU is gone then.  ret is filled in any case and given back by
 * mr_agent_report_deinit(). */
void mr_agent_run(const struct mr_agent_opts *opts, struct mr_agent_report *ret);
void mr_agent_report_deinit(struct mr_agent_report *report);

/* What an agent said of how the program ended, as waitpid() would.  MR_E_PROTO: it is no such thing. */
int mr_agent_read_result(const char *text, size_t size, int *ret_status, struct mr_error *err);
