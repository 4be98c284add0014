/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose
 *
 * The kernel lists the sockets of a namespace with their inodes in /proc/PID/net, and the
 * descriptors of a process name the inodes.  Between the two looks a socket may go and its
 * number come again; what is told is what a person with ss(8) would have seen.
 */
#include "runtime/supervise/whose.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define PIDS_MAX 1024
#define LINES_MAX 20000 /* sockets of the namespace that are looked at */

/* As the kernel prints it: words of four bytes each in the machine's order. */
static void format_address(const struct in6_addr *address, bool ipv4, char buf[33])
{
	uint32_t words[4];

	memcpy(words, address, sizeof(words));
	if (ipv4)
		snprintf(buf, 33, "%08X", words[3]);
	else
		snprintf(buf, 33, "%08X%08X%08X%08X", words[0], words[1], words[2], words[3]);
}

/* "  0: LOCAL:PORT REMOTE:PORT ST TX:RX TR:TM RETRNSMT UID TIMEOUT INODE ..." */
static uint64_t inode_of(const char *line, const struct mr_whose *whose, bool ipv4)
{
	char remote[33], wanted[33];
	unsigned int local_port, remote_port;
	uint64_t inode;

	if (sscanf(line,
		   " %*u: %*32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
		   &local_port, remote, &remote_port, &inode) != 4 ||
	    local_port != whose->local_port)
		return 0;
	if (whose->protocol == IPPROTO_UDP)
		return inode;
	format_address(&whose->remote, ipv4, wanted);
	return remote_port == whose->remote_port && strcmp(remote, wanted) == 0 ? inode : 0;
}

static uint64_t find_in(pid_t ns_pid, const char *file, const struct mr_whose *whose, bool ipv4)
{
	char path[48], line[512];
	mr_auto_fclose FILE *f = NULL;
	uint64_t inode = 0;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", ns_pid, file);
	f = fopen(path, "re");
	for (int i = 0; f && !inode && i < LINES_MAX && fgets(line, sizeof(line), f); i++)
		inode = inode_of(line, whose, ipv4);
	return inode;
}

static bool has_inode(pid_t pid, uint64_t inode)
{
	char path[48], wanted[40], target[40];
	mr_auto_closedir DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, wanted) == 0)
			return true;
	}
	return false;
}

pid_t mr_whose_socket(pid_t ns_pid, const struct mr_cgroup *cgroup, const struct mr_whose *whose,
		      char ret_comm[17])
{
	const bool tcp = whose->protocol == IPPROTO_TCP;
	uint64_t inode = find_in(ns_pid, tcp ? "tcp" : "udp", whose, true);
	pid_t pids[PIDS_MAX];
	struct mr_error err;
	size_t n = 0;

	if (!inode)
		inode = find_in(ns_pid, tcp ? "tcp6" : "udp6", whose, false);
	if (!inode || !cgroup || mr_cgroup_pids(cgroup, pids, PIDS_MAX, &n, &err) < 0)
		return 0;
	for (size_t i = 0; i < n && i < PIDS_MAX; i++) {
		char path[40];
		ssize_t len;

		if (!has_inode(pids[i], inode))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/comm", pids[i]);
		len = mr_read_file_at(AT_FDCWD, path, ret_comm, 17);
		ret_comm[len > 0 ? len : 0] = '\0';
		ret_comm[strcspn(ret_comm, "\n")] = '\0';
		return pids[i];
	}
	return 0;
}
