/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-qemu: a run in a virtual machine
 *
 * Started by menace-run (runtime/backend/handover.h).
 *
 *   main
 *     mr_errand_open     what is to be done
 *     mr_disk_run        runtime/backend/qemu_disk.c: in a machine with a disk of its own, or
 *     mr_qemu_run        runtime/backend/qemu.c: machines, until one has done it
 *       mr_vm_run          runtime/backend/qemu_vm.c: one machine
 *     mr_errand_report   the result
 */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/errand.h"
#include "runtime/backend/handover.h"
#include "runtime/backend/qemu.h"
#include "runtime/backend/qemu_disk.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/launch/steps.h"

static void add_entry(struct mr_strv *paths, const char *folder, const char *name)
{
	mr_auto_free char *path = mr_str_format("%s/%s", folder, name);

	if (access(path, F_OK) == 0)
		mr_strv_add(paths, path);
}

/* What any sandbox shows of this host, and no more. */
static void add_system(struct mr_strv *paths)
{
	mr_auto_closedir DIR *etc = opendir("/etc");
	struct dirent *entry;
	size_t n;
	const char *const *names = mr_rootfs_system_entries(&n);

	for (size_t i = 0; i < n; i++)
		add_entry(paths, "", names[i]);
	while (etc && (entry = readdir(etc)))
		if (mr_rootfs_is_etc_entry(entry->d_name))
			add_entry(paths, "/etc", entry->d_name);
	add_entry(paths, "/etc", "ssl/certs");
	add_entry(paths, "/etc", "ssl/openssl.cnf");
}

static int open_signals(struct mr_error *err)
{
	static const int more[] = { SIGUSR1, SIGUSR2 };

	return mr_signals_open(more, N_ELEMENTS(more), NULL, err);
}

static int probe(struct mr_errand *errand, const struct mr_qemu_opts *opts, struct mr_error *err)
{
	struct mr_error why = MR_ERROR_INIT;
	json_t *facts = NULL;
	int r = mr_spec_wants_vm(&errand->spec) ? mr_disk_probe(opts, &facts, &why)
						: mr_qemu_probe(opts, &facts, &why);

	return mr_errand_report_probe(errand, r == 0, r == 0 ? NULL : why.msg, 0, facts, err);
}

static int serve(struct mr_errand *errand, const struct mr_qemu_opts *opts, struct mr_error *err)
{
	json_t *result;

	if (errand->probe_only)
		return probe(errand, opts, err);
	result = mr_spec_wants_vm(&errand->spec) ? mr_disk_run(opts) : mr_qemu_run(opts);
	return result ? mr_errand_report(errand, result, err)
		      : mr_err(err, MR_E_SYS, EPIPE, "menace-run is gone");
}

static int do_errand(struct mr_errand *errand, struct mr_error *err)
{
	char path[MR_SIBLING_MAX];
	struct mr_strv system = { 0 };
	mr_auto_close int signals = -1;
	struct mr_qemu_opts opts = { .errand = errand,
				     .system_paths = &system,
				     .stdin_fd = STDIN_FILENO,
				     .stdout_fd = STDOUT_FILENO,
				     .stderr_fd = MR_HANDOVER_FD_STDERR };
	int r = mr_sibling_find("menace-guest", path, err);

	if (r == 0)
		r = signals = open_signals(err);
	if (r < 0)
		return r;
	opts.bin_dir = dirname(path);
	opts.signals_fd = signals;
	add_system(&system);
	r = serve(errand, &opts, err);
	mr_strv_clear(&system);
	return r;
}

int main(int argc, char **argv)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_errand errand;
	int r;

	mr_log_init("menace-qemu", MR_LOG_NOTICE, MR_LOG_TEXT);
	r = mr_inherit_settle_helper(&err);
	if (r == 0)
		r = mr_errand_open(argc, argv, &errand, &err);
	if (r == 0) {
		r = do_errand(&errand, &err);
		mr_errand_deinit(&errand);
	}
	if (r < 0)
		mr_log_error("%s", err.msg);
	return r < 0 ? mr_errc_exit_status(err.code) : 0;
}
