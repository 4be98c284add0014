/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits of each process
 *
 * Only what a control group cannot count.  Memory and processes are not among
 * them: RLIMIT_AS kills Node, Go and Java, RLIMIT_NPROC counts the user, not the
 * run.  They serve as a poor man's limit only where there is no control group and
 * the caller said so.
 */
#include <errno.h>
#include <sys/resource.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

static const struct rlimit_row {
	enum mr_field_id field;
	int resource;
	const char *name;
	bool instead_of_cgroup;
} rows[] = {
	{ MR_FIELD_limits_nofile, RLIMIT_NOFILE, "RLIMIT_NOFILE", false },
	{ MR_FIELD_limits_fsize_bytes, RLIMIT_FSIZE, "RLIMIT_FSIZE", false },
	{ MR_FIELD_limits_core_bytes, RLIMIT_CORE, "RLIMIT_CORE", false },
	{ MR_FIELD_limits_stack_bytes, RLIMIT_STACK, "RLIMIT_STACK", false },
	{ MR_FIELD_limits_memory_max_bytes, RLIMIT_DATA, "RLIMIT_DATA", true },
	{ MR_FIELD_limits_pids_max, RLIMIT_NPROC, "RLIMIT_NPROC", true },
};

static int apply_row(const struct mr_spec *spec, const struct rlimit_row *row, struct mr_error *err)
{
	uint64_t value = mr_spec_get(spec, row->field);
	rlim_t wanted = value == MR_UNLIMITED ? RLIM_INFINITY : (rlim_t)value;
	struct rlimit old, new = { .rlim_cur = wanted, .rlim_max = wanted };

	if (getrlimit(row->resource, &old) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: %m", row->name);
	/* The host's hard limit is lower: a default yields to it, a request does not. */
	if (wanted > old.rlim_max && spec->origin[row->field] == MR_ORIGIN_DEFAULT)
		new.rlim_cur = new.rlim_max = old.rlim_max;
	if (setrlimit(row->resource, &new) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "%s=%ju: %m (the hard limit of the caller is %ju)", row->name,
			      (uintmax_t)wanted, (uintmax_t)old.rlim_max);
	return 0;
}

int mr_rlimits_apply(const struct mr_spec *spec, bool limits_by_rlimit, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int r;

		if (rows[i].instead_of_cgroup && !limits_by_rlimit)
			continue;
		r = apply_row(spec, &rows[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}
