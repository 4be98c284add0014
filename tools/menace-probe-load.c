/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-probe-load: programs into the kernel, for menace-run
 *
 *   menace-probe-load load LEVEL [SWITCHES]   make what this build needs for the level and for
 *                                             +PROBE, unless it is there
 *   menace-probe-load purge [SECONDS]         remove what no run uses, or has used for so long
 *   menace-probe-load entries                 ids of the control groups that are observed at present
 *   menace-probe-load programs                each program, the instructions that were verified, and
 *                                             how often it was passed over as it was running already
 *   menace-probe-load kinds                   kinds of programs, each with 0 or the errno of its refusal
 *
 * Apart from menace-run because of libbpf: what starts for every run stays small.  A failed
 * load is told to menace-run as one struct mr_error on standard output, which is a pipe then,
 * and to anybody else as text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/kinds.h"
#include "bpf/loaded.h"
#include "bpf/loader.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/units.h"

static int fail(const struct mr_error *err)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		mr_write_full(STDOUT_FILENO, err, sizeof(*err));
	else
		fprintf(stderr, "menace-probe-load: %s\n", err->msg);
	return mr_errc_exit_status(err->code);
}

static int load(const char *name, const char *switches)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_probe_choice choice;
	enum mr_probe_level level = MR_PROBE_LEVEL_OFF;

	while (level < MR_PROBE_LEVEL_COUNT_ && strcmp(mr_probe_level_name(level), name) != 0)
		level++;
	if (level == MR_PROBE_LEVEL_COUNT_) {
		mr_err(&err, MR_E_USAGE, EINVAL, "no level %.40s", name);
		return fail(&err);
	}
	if (mr_probe_choose(level, switches, &choice, &err) < 0)
		return fail(&err);
	return mr_loader_load(&choice, &err) < 0 ? fail(&err) : 0;
}

static int purge(const char *idle)
{
	struct mr_error err = MR_ERROR_INIT;
	uint64_t idle_s = 0;
	int left = 0, removed;

	if (mr_units_parse_count(idle, &idle_s, &err) < 0)
		return fail(&err);
	removed = mr_loader_purge(idle_s, &left, &err);
	if (removed < 0)
		return fail(&err);
	printf("%d removed, %d left\n", removed, left);
	return 0;
}

static void print_entry(void *owner, uint64_t cgroup_id)
{
	(void)owner;
	printf("%" PRIu64 "\n", cgroup_id);
}

static int entries(void)
{
	struct mr_error err = MR_ERROR_INIT;

	return mr_loaded_entries(print_entry, NULL, &err) < 0 ? fail(&err) : 0;
}

static void print_program(void *owner, const char *name, uint32_t verified, uint64_t missed)
{
	(void)owner;
	printf("%s %" PRIu32 " %" PRIu64 "\n", name, verified, missed);
}

static int programs(void)
{
	const struct mr_loaded_programs to = { .take = print_program };
	struct mr_error err = MR_ERROR_INIT;

	return mr_loaded_programs(&to, &err) < 0 ? fail(&err) : 0;
}

static void print_kind(void *owner, const char *name, int errnum)
{
	(void)owner;
	printf("%s %d\n", name, errnum);
}

static int kinds(void)
{
	mr_kinds_try(print_kind, NULL);
	return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_inherit_settle_helper(&err) < 0)
		return fail(&err);
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "load") == 0)
		return load(argv[2], argc == 4 ? argv[3] : "");
	if ((argc == 2 || argc == 3) && strcmp(argv[1], "purge") == 0)
		return purge(argc == 3 ? argv[2] : "0");
	if (argc == 2 && strcmp(argv[1], "entries") == 0)
		return entries();
	if (argc == 2 && strcmp(argv[1], "programs") == 0)
		return programs();
	if (argc == 2 && strcmp(argv[1], "kinds") == 0)
		return kinds();
	mr_err(&err, MR_E_USAGE, EINVAL,
	       "usage: menace-probe-load load LEVEL [SWITCHES] | purge [SECONDS] | entries | "
	       "programs | kinds");
	return fail(&err);
}
