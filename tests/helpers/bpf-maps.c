/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf-maps: what is in the maps of pinned programs, and what a dead run may have left there
 *
 *   bpf-maps entries DIR              NAME ENTRIES MOST for each map below DIR that grows with its entries: those that
 *                                     are pinned, and those of programs that are, or whose links are
 *   bpf-maps put PATH KEY BYTES N...  put the numbers N, 8 bytes each, at KEY, which has so many bytes
 *   bpf-maps refuse PATH ROW          have the matrix of the probes say that the kernel refused this one (EPERM)
 */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sys.h"
#include "bpf/wire.h"
#include "tests/helpers/number.h"

#define MAPS_MAX 256
#define KEY_MAX 256

static struct bpf_map_info maps[MAPS_MAX];
static unsigned int n_maps;

static void die(const char *what)
{
	fprintf(stderr, "bpf-maps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void get_info(int fd, void *info, uint32_t size)
{
	if (mr_bpf_info(fd, info, size) < 0)
		die("ask for an object");
}

static int get_by_id(enum bpf_cmd cmd, uint32_t id)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_id = id;
	fd = mr_bpf(cmd, &attr, sizeof(attr));
	if (fd < 0)
		die("open an object by its number");
	return fd;
}

static bool grows(enum bpf_map_type type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_HASH_OF_MAPS || type == BPF_MAP_TYPE_LPM_TRIE;
}

static unsigned int count_entries(int fd, const struct bpf_map_info *map)
{
	unsigned char key[KEY_MAX], next[KEY_MAX];
	unsigned int n = 0;

	/* Others put in and take out meanwhile: no more steps than there is room for. */
	for (; n < map->max_entries && mr_bpf_map_next(fd, n ? key : NULL, next) == 0; n++)
		memcpy(key, next, map->key_size);
	return n;
}

static void take_map(int fd)
{
	struct bpf_map_info info = { 0 };

	get_info(fd, &info, sizeof(info));
	if (!grows(info.type))
		return;
	for (unsigned int i = 0; i < n_maps; i++)
		if (maps[i].id == info.id)
			return;
	if (n_maps == MAPS_MAX || info.key_size > KEY_MAX) {
		errno = EOVERFLOW;
		die(info.name);
	}
	maps[n_maps++] = info;
	printf("%s %u %u\n", info.name, count_entries(fd, &info), info.max_entries);
}

static void take_program(int fd)
{
	uint32_t ids[MAPS_MAX];
	struct bpf_prog_info info = { .nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids };

	get_info(fd, &info, sizeof(info));
	for (unsigned int i = 0; i < info.nr_map_ids; i++) {
		int map = get_by_id(BPF_MAP_GET_FD_BY_ID, ids[i]);

		take_map(map);
		close(map);
	}
}

static void take_link(int fd)
{
	struct bpf_link_info info = { 0 };
	int prog;

	get_info(fd, &info, sizeof(info));
	prog = get_by_id(BPF_PROG_GET_FD_BY_ID, info.prog_id);
	take_program(prog);
	close(prog);
}

/* What a descriptor is of, only its name tells. */
static int take(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char name[64], kind[64];
	ssize_t n;
	int fd;

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	fd = mr_bpf_get(path);
	if (fd < 0)
		die(path);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, kind, sizeof(kind) - 1);
	kind[n < 0 ? 0 : n] = '\0';
	if (strstr(kind, "bpf-map"))
		take_map(fd);
	else if (strstr(kind, "bpf-prog"))
		take_program(fd);
	else if (strstr(kind, "bpf_link") || strstr(kind, "bpf-link"))
		take_link(fd);
	else
		die(path);
	close(fd);
	return 0;
}

static int put(int n, char **argv)
{
	uint64_t key = number_of(argv[1]), bytes = number_of(argv[2]), values[8];
	int fd = mr_bpf_get(argv[0]);

	if (fd < 0 || (bytes != 4 && bytes != 8) || n > 3 + 8)
		die(argv[0]);
	for (int i = 3; i < n; i++)
		values[i - 3] = number_of(argv[i]);
	/* Little endian: the first four bytes of a small number are the number. */
	if (mr_bpf_map_update(fd, &key, values) < 0)
		die(argv[0]);
	return 0;
}

static int refuse(char **argv)
{
	static struct mr_wire_probe rows[MR_ROW_COUNT_];
	const uint32_t first = 0;
	int fd = mr_bpf_get(argv[0]);
	uint64_t row = number_of(argv[1]);

	if (fd < 0 || row >= MR_ROW_COUNT_ || mr_bpf_map_lookup(fd, &first, rows) < 0)
		die(argv[0]);
	rows[row] = (struct mr_wire_probe){ .state = MR_PROBE_OFF, .errnum = EPERM };
	if (mr_bpf_map_update(fd, &first, rows) < 0)
		die(argv[0]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "refuse") == 0)
		return refuse(argv + 2);
	if (argc == 3 && strcmp(argv[1], "entries") == 0)
		return nftw(argv[2], take, 8, FTW_PHYS) == 0 ? 0 : 1;
	if (argc > 5 && strcmp(argv[1], "put") == 0)
		return put(argc - 2, argv + 2);
	errno = EINVAL;
	die("arguments");
}
