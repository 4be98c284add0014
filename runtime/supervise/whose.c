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
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"

#define PIDS_MAX 1024
#define ENTRIES_MAX 50000 /* lines and descriptors of one look */
#define CLOCK_EVERY 16 /* entries */
#define SECOND_NS 1000000000ULL

struct look {
	const struct mr_whose *whose;
	uint64_t deadline_ns, cpu_deadline_ns;
	unsigned int entries;
	bool over; /* it had to end before all was seen */
	uint64_t inode; /* 0: none yet */
	bool several;
};

static bool is_late(const struct look *look)
{
	return mr_clock_ns(MR_CLOCK_THREAD_CPU) >= look->cpu_deadline_ns ||
	       mr_now_ns() >= look->deadline_ns;
}

/* One more entry: may it be looked at? */
static bool goes_on(struct look *look)
{
	look->entries++;
	if (look->entries > ENTRIES_MAX || (look->entries % CLOCK_EVERY == 0 && is_late(look)))
		look->over = true;
	return !look->over;
}

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

/* A datagram leaves a socket that is bound to no address from any. */
static bool is_local(const struct mr_whose *whose, const char *local, bool ipv4)
{
	char wanted[33];

	if (IN6_IS_ADDR_UNSPECIFIED(&whose->local) ||
	    (whose->protocol == IPPROTO_UDP && strspn(local, "0") == strlen(local)))
		return true;
	format_address(&whose->local, ipv4, wanted);
	return strcmp(local, wanted) == 0;
}

/* "  0: LOCAL:PORT REMOTE:PORT ST TX:RX TR:TM RETRNSMT UID TIMEOUT INODE ..." */
static uint64_t inode_of(const char *line, const struct mr_whose *whose, bool ipv4)
{
	char local[33], remote[33], wanted[33];
	unsigned int local_port, remote_port;
	uint64_t inode;

	if (sscanf(line,
		   " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
		   local, &local_port, remote, &remote_port, &inode) != 5 ||
	    local_port != whose->local_port || !is_local(whose, local, ipv4))
		return 0;
	if (whose->protocol == IPPROTO_UDP)
		return inode;
	format_address(&whose->remote, ipv4, wanted);
	return remote_port == whose->remote_port && strcmp(remote, wanted) == 0 ? inode : 0;
}

static void find_in(struct look *look, pid_t ns_pid, const char *file, bool ipv4)
{
	char path[48], line[512];
	mr_auto_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", ns_pid, file);
	f = fopen(path, "re");
	while (f && !look->several && goes_on(look) && fgets(line, sizeof(line), f)) {
		uint64_t inode = inode_of(line, look->whose, ipv4);

		if (inode && look->inode && inode != look->inode)
			look->several = true;
		else if (inode)
			look->inode = inode;
	}
}

static bool has_inode(struct look *look, pid_t pid)
{
	char path[48], wanted[40], target[40];
	mr_auto_closedir DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", look->inode);
	dir = opendir(path);
	while (dir && goes_on(look) && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, wanted) == 0)
			return true;
	}
	return false;
}

static void read_comm(struct mr_who *who)
{
	char path[40];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", who->pid);
	len = mr_read_file_at(AT_FDCWD, path, who->comm, sizeof(who->comm));
	who->comm[len > 0 ? len : 0] = '\0';
	who->comm[strcspn(who->comm, "\n")] = '\0';
}

/* Of the processes the one that has it. */
static void find_process(struct look *look, const struct mr_cgroup *cgroup, struct mr_who *who)
{
	pid_t pids[PIDS_MAX];
	struct mr_error err;
	size_t n = 0;

	if (mr_cgroup_pids(cgroup, pids, PIDS_MAX, &n, &err) < 0)
		return;
	for (size_t i = 0; i < n && i < PIDS_MAX && !look->over; i++) {
		if (!has_inode(look, pids[i]))
			continue;
		who->pid = pids[i];
		read_comm(who);
		return;
	}
	look->over = look->over || n > PIDS_MAX;
}

static void find(struct look *look, pid_t ns_pid, const struct mr_cgroup *cgroup,
		 struct mr_who *who)
{
	const bool tcp = look->whose->protocol == IPPROTO_TCP;
	const struct in6_addr *local = &look->whose->local;

	if (IN6_IS_ADDR_UNSPECIFIED(local) || IN6_IS_ADDR_V4MAPPED(local))
		find_in(look, ns_pid, tcp ? "tcp" : "udp", true);
	/* A connection is one socket, a port of datagrams may be shared. */
	if (!tcp || !look->inode)
		find_in(look, ns_pid, tcp ? "tcp6" : "udp6", false);
	if (look->several)
		who->why = "several sockets have its address and port";
	else if (look->inode && !look->over)
		find_process(look, cgroup, who);
	if (!who->pid && look->over && !look->several) {
		who->why = "there was too much to look through";
		who->left_out = true;
	} else if (!who->pid && !who->why) {
		who->why = "its socket was closed";
	}
}

/* What is left of this second. */
static uint64_t time_left(struct mr_looks *looks, uint64_t now)
{
	if (now - looks->begin_ns >= SECOND_NS)
		*looks = (struct mr_looks){ .begin_ns = now };
	return looks->spent_ns < MR_PATIENCE_NS(OWNER_LOOKS)
		       ? MR_PATIENCE_NS(OWNER_LOOKS) - looks->spent_ns
		       : 0;
}

void mr_whose_socket(struct mr_looks *looks, pid_t ns_pid, const struct mr_cgroup *cgroup,
		     const struct mr_whose *whose, struct mr_who *ret)
{
	const uint64_t now = mr_now_ns(), left = time_left(looks, now);
	struct look look = { .whose = whose,
			     .deadline_ns = now + left,
			     .cpu_deadline_ns = mr_clock_ns(MR_CLOCK_THREAD_CPU) +
						MR_PATIENCE_NS(OWNER_LOOK) };

	*ret = (struct mr_who){ .pid = 0 };
	if (!whose->local_port || !cgroup) {
		ret->why = cgroup ? "its port is not known" : "the run has no control group";
		return;
	}
	if (left == 0) {
		ret->why = "more was refused at once than there was time to look at";
		ret->left_out = true;
		return;
	}
	find(&look, ns_pid, cgroup, ret);
	ret->looked = true;
	looks->spent_ns += mr_now_ns() - now;
}
