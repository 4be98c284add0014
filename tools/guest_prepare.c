/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparation of the guest
 *
 * To load the programs of telemetry is most of what an emulated machine does before a run, as the
 * kernel looks through each of them.  So it begins before the run is told, in a process of its own,
 * for whose end the run waits; not while modules are loaded, which loses more than it wins.  A
 * machine that is kept for others is kept when that is done, all else is open that runs of one
 * process share, and one run was rehearsed: they then find it so.  What fails here is not told: the
 * run does it again and tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/start.h"
#include "runtime/backend/qemu_machine.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/base/wait.h"
#include "runtime/supervise/run.h"
#include "tools/guest.h"

#define LINE_MAX_BYTES 4096 /* of the kernel's command line */

static bool is_kept; /* the machine is to be */
static int loader = -1; /* pidfd of who loads; -1: nobody */
static struct mr_run_host host;
static bool has_host;

static void begin_loading(enum mr_probe_level level)
{
	struct mr_error err = MR_ERROR_INIT;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(mr_start_loader(level, "", &err) < 0);
	if (pid > 0)
		loader = mr_pidfd_open(pid, 0);
}

static void wait_for_loader(void)
{
	struct pollfd pfd = { .fd = loader, .events = POLLIN };

	while (loader >= 0 && poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
	loader = mr_close(loader);
}

/* What a kernel does at the first of anything is then done: memory of each kind is there, and the code
 * that it changes in itself is changed, which emulation would translate anew for each machine. */
static void rehearse(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(mr_guest_rehearse());
	if (pid > 0)
		mr_wait(pid);
}

static void follow_command_line(void)
{
	const size_t n = strlen(MR_MACHINE_WORD_PROBES);
	char line[LINE_MAX_BYTES], *next, *word;
	uint64_t level = 0;

	if (mr_read_file_at(AT_FDCWD, "/proc/cmdline", line, sizeof(line)) < 0)
		return;
	for (word = strtok_r(line, " \n", &next); word; word = strtok_r(NULL, " \n", &next)) {
		is_kept |= strcmp(word, MR_MACHINE_WORD_KEPT) == 0;
		if (mr_str_starts_with(word, MR_MACHINE_WORD_PROBES) &&
		    mr_units_parse_count(word + n, &level, NULL) < 0)
			level = 0;
	}
	if (level > MR_PROBE_LEVEL_OFF && level < MR_PROBE_LEVEL_COUNT_)
		begin_loading((enum mr_probe_level)level);
}

/* Of one run at a time. */
static int open_host(struct mr_error *err)
{
	int r = mr_run_host_open(&host, err);

	has_host = r == 0;
	return r;
}

void mr_guest_prepare(void)
{
	struct mr_error err = MR_ERROR_INIT;
	unsigned int runs = 1;

	follow_command_line();
	if (!is_kept)
		return;
	wait_for_loader();
	if (open_host(&err) == 0 && mr_run_host_keep(&host, &runs, &err) == 0)
		mr_run_host_prepare(&host, MR_TELEMETRY_DEFAULT);
	if (has_host)
		rehearse();
}

struct mr_run_host *mr_guest_host(struct mr_error *err)
{
	wait_for_loader();
	return has_host || open_host(err) == 0 ? &host : NULL;
}
