/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits
 *
 * One row of struct mr_limit_file is one limit and one file of the kernel; the
 * rows are in v1.c and v2.c.  Here is how a row is written and read back.  To
 * add a limit, add a field to struct mr_limits and a row to both tables.
 *
 * A limit that is asked and cannot be written is an error; a limit that is not
 * asked never is.
 */
#include "cgroups/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define CPU_PERIOD_DEFAULT_US 100000
#define CPU_PERIOD_MAX_US 1000000
#define CPU_FLOOR_US 1000 /* smallest quota and period that the kernel takes */
#define CPU_QUOTA_MAX_US ((1ULL << 44) / 1000)
#define PIDS_MAX 4194304 /* PID_MAX_LIMIT; pids.max refuses more */
/* v1 shows "no limit" as LONG_MAX rounded down to a page, whose size varies. */
#define V1_NO_LIMIT ((uint64_t)LONG_MAX - 0xffff)

const char *mr_limits_controller_name(enum mr_controller controller)
{
	static const char *const names[] = {
		[MR_CONTROLLER_MEMORY] = "memory",
		[MR_CONTROLLER_PIDS] = "pids",
		[MR_CONTROLLER_CPU] = "cpu",
		[MR_CONTROLLER_IO] = "io",
	};

	return names[controller];
}

static int normalise_cpu(struct mr_limits *l, struct mr_error *err)
{
	if (l->cpu_period_us == 0)
		l->cpu_period_us = CPU_PERIOD_DEFAULT_US;
	if (l->cpu_quota_us == MR_UNLIMITED)
		return 0;
	if (l->cpu_period_us < CPU_FLOOR_US || l->cpu_period_us > CPU_PERIOD_MAX_US)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "cpu_period_us %" PRIu64 ": accepted are %d to %d", l->cpu_period_us,
			      CPU_FLOOR_US, CPU_PERIOD_MAX_US);
	if (l->cpu_quota_us == 0 || l->cpu_quota_us > CPU_QUOTA_MAX_US)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "cpu_quota_us %" PRIu64 ": accepted are 1 to %llu, or no limit",
			      l->cpu_quota_us, CPU_QUOTA_MAX_US);
	if (l->cpu_quota_us < CPU_FLOOR_US) {
		/* A longer period keeps the share; raising the quota alone would grant more. */
		uint64_t period = l->cpu_period_us * CPU_FLOOR_US / l->cpu_quota_us;

		l->cpu_period_us = period < CPU_PERIOD_MAX_US ? period : CPU_PERIOD_MAX_US;
		l->cpu_quota_us = CPU_FLOOR_US;
	}
	return 0;
}

int mr_limits_normalise(const struct mr_limits *limits, unsigned int extra_pids,
			struct mr_limits *ret, struct mr_error *err)
{
	struct mr_limits l = *limits;
	int r;

	if (l.pids_max != MR_UNLIMITED) {
		l.pids_max = l.pids_max < PIDS_MAX ? l.pids_max + extra_pids : PIDS_MAX;
		if (l.pids_max > PIDS_MAX)
			l.pids_max = PIDS_MAX;
	}
	r = normalise_cpu(&l, err);
	if (r < 0)
		return r;
	*ret = l;
	return 0;
}

unsigned int mr_limits_controllers(const struct mr_limits *limits)
{
	unsigned int mask = 0;

	if (limits->memory_max != MR_UNLIMITED || limits->swap_max != MR_UNLIMITED)
		mask |= MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY);
	if (limits->pids_max != MR_UNLIMITED)
		mask |= MR_CONTROLLER_BIT(MR_CONTROLLER_PIDS);
	if (limits->cpu_quota_us != MR_UNLIMITED)
		mask |= MR_CONTROLLER_BIT(MR_CONTROLLER_CPU);
	return mask;
}

void mr_limits_lift(struct mr_limits *limits, enum mr_controller controller)
{
	if (controller == MR_CONTROLLER_MEMORY)
		limits->memory_max = limits->swap_max = MR_UNLIMITED;
	else if (controller == MR_CONTROLLER_PIDS)
		limits->pids_max = MR_UNLIMITED;
	else if (controller == MR_CONTROLLER_CPU)
		limits->cpu_quota_us = MR_UNLIMITED;
}

static uint64_t row_value(const struct mr_limits *limits, const struct mr_limit_file *file)
{
	return *(const uint64_t *)((const char *)limits + file->offset);
}

/* Format as the kernel reads it: "4096", "max", "-1", "50000 100000". */
static void format_value(char *buf, size_t size, enum mr_limit_form form, uint64_t value,
			 uint64_t period)
{
	char number[24];

	if (value == MR_UNLIMITED)
		snprintf(number, sizeof(number), "%s", form == MR_LIMIT_FORM_MINUS ? "-1" : "max");
	else
		snprintf(number, sizeof(number), "%" PRIu64, value);
	if (form == MR_LIMIT_FORM_QUOTA)
		snprintf(buf, size, "%s %" PRIu64, number, period);
	else
		snprintf(buf, size, "%s", number);
}

int mr_limits_write(int dir_fd, const struct mr_limit_file *file, const struct mr_limits *limits,
		    struct mr_error *err)
{
	uint64_t value = row_value(limits, file);
	char text[64];
	int r;

	format_value(text, sizeof(text), file->form, value, limits->cpu_period_us);
	r = mr_write_file_at(dir_fd, file->file, text);
	if (r == -ENOENT && value == MR_UNLIMITED)
		return 0; /* controller absent, and nothing is asked of it */
	if (r == -ENOENT)
		return mr_err(err, MR_E_KERNEL, ENOENT, "%s: no %s in this cgroup", file->key,
			      file->file);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "%s: write \"%s\" to %s: %m", file->key, text,
			      file->file);
	return 0;
}

int mr_limits_apply(int dir_fd, const struct mr_limit_file *files, size_t n,
		    unsigned int controllers, const struct mr_limits *limits, struct mr_error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct mr_limit_file *file = &files[i];
		int r;

		/* A fresh group has no limits: nothing to write where none is asked. */
		if (!(controllers & MR_CONTROLLER_BIT(file->controller)) ||
		    row_value(limits, file) == MR_UNLIMITED)
			continue;
		r = mr_limits_write(dir_fd, file, limits, err);
		if (r < 0)
			return mr_err_wrap(err, r, "set limit");
	}
	return 0;
}

const char *mr_limits_parse(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = text;

	if (strncmp(p, "max", 3) == 0 || strncmp(p, "-1", 2) == 0) {
		p += *p == 'm' ? 3 : 2;
		value = MR_UNLIMITED;
	} else {
		for (; *p >= '0' && *p <= '9'; p++)
			if (__builtin_mul_overflow(value, 10, &value) ||
			    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
				return NULL;
		if (p == text)
			return NULL;
	}
	if (*p != '\0' && *p != ' ' && *p != '\n')
		return NULL;
	*ret = value;
	return p;
}

int mr_limits_read(int dir_fd, const struct mr_limit_file *file, uint64_t *ret,
		   uint64_t *ret_period)
{
	char text[64];
	const char *rest;
	uint64_t value, period;
	ssize_t n = mr_read_file_at(dir_fd, file->file, text, sizeof(text));

	if (n < 0)
		return (int)n;
	rest = mr_limits_parse(text, &value);
	if (!rest)
		return -EBADMSG;
	if (file->form == MR_LIMIT_FORM_QUOTA) {
		if (*rest != ' ' || !mr_limits_parse(rest + 1, &period))
			return -EBADMSG;
		*ret_period = period;
	}
	if (file->form == MR_LIMIT_FORM_MINUS && value >= V1_NO_LIMIT)
		value = MR_UNLIMITED;
	*ret = value;
	return 0;
}
