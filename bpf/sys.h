/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf(2), as little of it as a run needs
 *
 * menace-run starts for every run and is static: libbpf stays in the loader, and what
 * is used here of pinned maps and programs are single system calls.
 */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int mr_bpf(enum bpf_cmd cmd, union bpf_attr *attr, size_t size)
{
	return (int)syscall(SYS_bpf, cmd, attr, size);
}

static inline int mr_bpf_obj(enum bpf_cmd cmd, int fd, const char *path)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	attr.bpf_fd = (uint32_t)fd;
	return mr_bpf(cmd, &attr, sizeof(attr));
}

/* A descriptor of the map, program or link pinned at path, or -1. */
static inline int mr_bpf_get(const char *path)
{
	return mr_bpf_obj(BPF_OBJ_GET, 0, path);
}

static inline int mr_bpf_pin(int fd, const char *path)
{
	return mr_bpf_obj(BPF_OBJ_PIN, fd, path);
}

/* What the kernel tells of a map, program or link, as much as it has: the size of that, or -1.  info is zeros,
 * but for what it asks for. */
static inline int mr_bpf_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = (uintptr_t)info;
	return mr_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 ? -1
								       : (int)attr.info.info_len;
}

static inline int mr_bpf_map_create(enum bpf_map_type type, uint32_t key, uint32_t value,
				    uint32_t entries, uint32_t flags, int inner_fd,
				    const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key;
	attr.value_size = value;
	attr.max_entries = entries;
	attr.map_flags = flags;
	attr.inner_map_fd = inner_fd < 0 ? 0 : (uint32_t)inner_fd;
	strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
	return mr_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* value: what is written or read, or for BPF_MAP_GET_NEXT_KEY the next key, which has the same place. */
static inline int mr_bpf_map(enum bpf_cmd cmd, int fd, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return mr_bpf(cmd, &attr, sizeof(attr));
}

static inline int mr_bpf_map_lookup(int fd, const void *key, void *value)
{
	return mr_bpf_map(BPF_MAP_LOOKUP_ELEM, fd, key, value);
}

static inline int mr_bpf_map_update(int fd, const void *key, const void *value)
{
	return mr_bpf_map(BPF_MAP_UPDATE_ELEM, fd, key, value);
}

static inline int mr_bpf_map_delete(int fd, const void *key)
{
	return mr_bpf_map(BPF_MAP_DELETE_ELEM, fd, key, NULL);
}

/* The key after `key`, the first one for NULL. */
static inline int mr_bpf_map_next(int fd, const void *key, void *next)
{
	return mr_bpf_map(BPF_MAP_GET_NEXT_KEY, fd, key, next);
}

/* A map's memory, shared with the kernel.  It is not handed on by fork: what holds the counters of
 * all runs has no place in a sandbox's init, and each page copied to it would cost time. */
static inline void *mr_bpf_mmap(int fd, size_t size, int prot, size_t at)
{
	void *mapped = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)at);

	if (mapped != MAP_FAILED && madvise(mapped, size, MADV_DONTFORK) < 0) {
		munmap(mapped, size);
		return MAP_FAILED;
	}
	return mapped;
}
