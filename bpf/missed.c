/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missed
 *
 * What is pinned is opened once and kept, for each process of ours: then a look costs one system call a
 * program.  Hooks of control groups are left out, since the kernel never passes one over.
 */
#include "bpf/missed.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "bpf/pins.h"
#include "bpf/sys.h"
#include "runtime/base/cleanup.h"

void mr_missed_close(struct mr_missed *missed)
{
	for (unsigned int i = 0; i < missed->n; i++)
		mr_close(missed->fds[i]);
	*missed = (struct mr_missed){ 0 };
}

static int open_by_id(uint32_t id)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = mr_bpf(BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* What is pinned there is a program, or a link that leads to one. */
static int open_program(const char *path, bool is_link)
{
	struct bpf_link_info info = { 0 };
	mr_auto_close int pin = mr_bpf_get(path);

	if (pin < 0)
		return -errno;
	if (!is_link)
		return mr_take_fd(pin);
	return mr_bpf_info(pin, &info, sizeof(info)) < 0 ? -errno : open_by_id(info.prog_id);
}

static int add_program(struct mr_missed *missed, const char *dir, const char *name, size_t row,
		       bool is_link)
{
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, dir, name, NULL);

	if (r < 0)
		return r;
	if (missed->n == MR_MISSED_PROGRAMS_MAX)
		return -E2BIG;
	r = open_program(path, is_link);
	if (r < 0)
		return r;
	missed->fds[missed->n] = r;
	missed->rows[missed->n++] = (uint8_t)row;
	return 0;
}

/* A row of functions is every program of its object. */
static int add_functions(struct mr_missed *missed, const char *dir_path, size_t row)
{
	mr_auto_closedir DIR *dir = opendir(dir_path);
	struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = add_program(missed, dir_path, entry->d_name, row, true);
	return r;
}

static int add_row(struct mr_missed *missed, const char *set_path, const struct mr_probe_row *row,
		   size_t number)
{
	char dir[MR_PINS_PATH_MAX];
	int r = mr_pins_join(dir, set_path, row->object, NULL);

	if (r < 0 || row->kind == MR_PROBE_CGROUP)
		return r;
	return row->kind == MR_PROBE_FENTRY ? add_functions(missed, dir, number)
					    : add_program(missed, dir, row->program, number,
							  row->kind != MR_PROBE_RAW_TP_RUN);
}

static int open_rows(struct mr_missed *missed, const char *set_path, uint64_t rows)
{
	size_t n;
	const struct mr_probe_row *row = mr_probe_rows(&n);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!(rows >> i & 1) || missed->opened >> i & 1)
			continue;
		r = add_row(missed, set_path, &row[i], i);
		missed->opened |= 1ULL << i;
	}
	if (r < 0)
		mr_missed_close(missed);
	return r;
}

int mr_missed_count(struct mr_missed *missed, const char *set_path, uint64_t rows, uint64_t *ret)
{
	uint64_t sum = 0;
	int r = open_rows(missed, set_path, rows);

	for (unsigned int i = 0; r == 0 && i < missed->n; i++) {
		struct bpf_prog_info info = { 0 };
		int size;

		if (!(rows >> missed->rows[i] & 1))
			continue;
		size = mr_bpf_info(missed->fds[i], &info, sizeof(info));
		if (size < 0)
			r = -errno;
		else if ((size_t)size < offsetof(struct bpf_prog_info, recursion_misses) +
						sizeof(info.recursion_misses))
			r = -EOPNOTSUPP;
		sum += info.recursion_misses;
	}
	if (r == 0)
		*ret = sum;
	return r;
}
