/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor: probes of what the host has been set up with
 *
 * A control group is made as a run makes it, under a lease, so that what a killed doctor
 * leaves goes with the next start; programs for the kernel are put into a bpf file system that
 * is mounted nowhere and goes with the child that made it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/probe.h"
#include "cgroups/cgroup.h"
#include "runtime/backend/deputy.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/io.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/base/wait.h"
#include "runtime/launch/mountfd.h"
#include "runtime/supervise/lease.h"
#include "tools/doctor.h"

/* --- control groups ------------------------------------------------------------------------ */

struct group {
	struct mr_cgroup_host *host;
	int lease_dir, lease_fd;
	char id[MR_RUN_ID_SIZE];
	struct mr_cgroup *cg;
};

static int make_group(struct group *g, const struct mr_limits *limits, struct mr_error *err)
{
	static const struct mr_lease_note note = { .program = "menace doctor" };
	int r;

	*g = (struct group){ .lease_dir = -1, .lease_fd = -1 };
	mr_lease_new_id(g->id);
	r = mr_cgroup_detect(&g->host, err);
	if (r == 0)
		r = g->lease_dir = mr_lease_open_dir(err);
	if (r >= 0 && mr_cgroup_host_mode(g->host) == MR_CGROUP_NONE)
		r = mr_err(err, MR_E_KERNEL, EACCES, "no control group can be had, see mode");
	if (r >= 0)
		r = g->lease_fd = mr_lease_take(g->lease_dir, g->id, g->host, &note, err);
	return r < 0 ? r : mr_cgroup_new(g->host, g->id, limits, 0, &g->cg, err);
}

static void drop_group(struct group *g)
{
	struct mr_error err;

	/* Left to the sweep of the next start, if it will not go. */
	if (!g->cg || mr_cgroup_destroy(g->cg, &err) == 0)
		g->lease_fd = mr_lease_release(g->lease_dir, g->id, g->lease_fd);
	mr_cgroup_free(g->cg);
	mr_close(g->lease_fd);
	mr_close(g->lease_dir);
	mr_cgroup_host_free(g->host);
}

static const struct mr_limits unlimited = { .memory_max = MR_UNLIMITED,
					    .swap_max = MR_UNLIMITED,
					    .pids_max = MR_UNLIMITED,
					    .cpu_quota_us = MR_UNLIMITED,
					    .cpu_period_us = 100000 };

void mr_doctor_cgroup_mode(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	struct group g;
	int r = make_group(&g, &unlimited, &err);

	(void)check;
	if (g.host && mr_cgroup_host_mode(g.host) == MR_CGROUP_NONE)
		mr_doctor_say_missing(answer, EACCES, "%s", mr_cgroup_host_why(g.host));
	else if (r < 0)
		mr_doctor_say_error(answer, &err);
	else
		mr_doctor_say_ok(answer, "%s", mr_cgroup_mode_name(mr_cgroup_host_mode(g.host)));
	drop_group(&g);
}

/* A limit of each, and how the kernel shows it. */
static const struct limit {
	const char *key;
	size_t offset; /* in struct mr_limits */
	uint64_t value;
} limits[] = {
	[MR_CONTROLLER_MEMORY] = { "memory_max_bytes", offsetof(struct mr_limits, memory_max),
				   64 << 20 },
	[MR_CONTROLLER_PIDS] = { "pids_max", offsetof(struct mr_limits, pids_max), 64 },
	[MR_CONTROLLER_CPU] = { "cpu_quota_us", offsetof(struct mr_limits, cpu_quota_us), 50000 },
};

void mr_doctor_cgroup_limit(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	const struct limit *limit = &limits[check->number];
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup_shown shown[16];
	struct mr_limits wanted = unlimited;
	size_t n = 0, i = 0;
	struct group g;
	int r;

	*(uint64_t *)(void *)((char *)&wanted + limit->offset) = limit->value;
	r = make_group(&g, &wanted, &err);
	if (r == 0)
		r = mr_cgroup_show_limits(g.cg, shown, N_ELEMENTS(shown), &n, &err);
	while (r == 0 && i < n && strcmp(shown[i].key, limit->key) != 0)
		i++;
	if (r < 0)
		mr_doctor_say_error(answer, &err);
	else if (i == n || shown[i].value != limit->value)
		mr_doctor_say_missing(answer, EBADE,
				      "the kernel does not show the limit it was given");
	else
		mr_doctor_say_ok(answer, "%s", shown[i].file);
	drop_group(&g);
}

/* A process in the group that waits to be killed, or ends at once. */
static pid_t clone_into(const struct mr_cgroup *cg, bool waits)
{
	struct mr_clone_args args = { .flags = CLONE_INTO_CGROUP,
				      .exit_signal = SIGCHLD,
				      .cgroup = (uint64_t)mr_cgroup_v2_fd(cg) };
	pid_t pid = (pid_t)mr_clone3(&args);

	if (pid == 0) {
		if (waits && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			pause();
		_exit(0);
	}
	return pid;
}

static int wait_status(pid_t pid)
{
	return mr_wait(pid);
}

void mr_doctor_clone_into_cgroup(const struct mr_doctor_check *check,
				 struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	struct group g;
	pid_t pid;

	(void)check;
	if (make_group(&g, &unlimited, &err) < 0) {
		mr_doctor_say_error(answer, &err);
	} else {
		pid = clone_into(g.cg, false);
		if (pid < 0)
			mr_doctor_say_missing(answer, errno, NULL);
		else if (wait_status(pid) != 0)
			mr_doctor_say_missing(answer, EBADE, "the process did not run");
		else
			mr_doctor_say_ok(answer, NULL);
	}
	drop_group(&g);
}

void mr_doctor_cgroup_kill(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	struct group g;
	pid_t pid = -1;
	int r = make_group(&g, &unlimited, &err);

	(void)check;
	if (r < 0) {
		mr_doctor_say_error(answer, &err);
	} else {
		pid = clone_into(g.cg, true);
		r = pid < 0 ? -errno : mr_write_file_at(mr_cgroup_v2_fd(g.cg), "cgroup.kill", "1");
		if (r < 0)
			mr_doctor_say_missing(answer, -r, NULL);
		else
			mr_doctor_say_ok(answer, NULL);
	}
	if (pid > 0 && r < 0)
		kill(pid, SIGKILL);
	if (pid > 0)
		wait_status(pid);
	drop_group(&g);
}

/* 0 or -errno: a file of the group can be read. */
static int read_of_group(const char *file, struct mr_error *err)
{
	char text[512];
	struct group g;
	int r = make_group(&g, &unlimited, err);

	if (r == 0) {
		ssize_t n = mr_read_file_at(mr_cgroup_v2_fd(g.cg), file, text, sizeof(text));

		r = n < 0 ? mr_err(err, MR_E_KERNEL, (int)-n, "%s: %m", file) : 0;
	}
	drop_group(&g);
	return r;
}

void mr_doctor_cgroup_io(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)check;
	if (read_of_group("io.stat", &err) < 0)
		mr_doctor_say_error(answer, &err);
	else
		mr_doctor_say_ok(answer, NULL);
}

void mr_doctor_cgroup_psi(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	char text[512];

	(void)check;
	if (read_of_group("memory.pressure", &err) == 0)
		mr_doctor_say_ok(answer, NULL);
	else if (mr_read_file_at(AT_FDCWD, "/proc/pressure/memory", text, sizeof(text)) > 0)
		mr_doctor_say_degraded(answer, "of the host, but not of a group (%.100s)", err.msg);
	else
		mr_doctor_say_error(answer, &err);
}

/* --- programs for the kernel ------------------------------------------------------------------ */

/* What one child found out for many probes. */
static struct gathered {
	char kinds[2048]; /* lines "NAME ERRNO" */
	struct mr_error kinds_error, rows_error;
	bool has_kinds, has_rows, lacks_rights;
	struct mr_wire_probe rows[MR_WIRE_PROBES_MAX];
} * gathered;

int mr_doctor_prepare(struct mr_error *err)
{
	gathered = mmap(NULL, sizeof(*gathered), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (gathered == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "memory: %m");
	mr_err(&gathered->kinds_error, MR_E_SYS, ETIME, "it could not be tried");
	gathered->rows_error = gathered->kinds_error;
	return 0;
}

static int run_loader(int out, struct mr_error *err)
{
	char path[MR_SIBLING_MAX];
	int r = mr_sibling_find("menace-probe-load", path, err);
	pid_t pid;

	if (r < 0)
		return r;
	pid = mr_doctor_fork();
	if (pid == 0) {
		if (dup2(out, STDOUT_FILENO) == STDOUT_FILENO)
			execl(path, "menace-probe-load", "kinds", (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		return mr_err(err, MR_E_SYS, errno, "fork: %m");
	r = wait_status(pid);
	return r == 0 ? 0 : mr_err(err, MR_E_SYS, EIO, "%s failed (wait status %d)", path, r);
}

static int gather_kinds(struct mr_error *err)
{
	mr_auto_close int memory = memfd_create("kinds", MFD_CLOEXEC);
	ssize_t n;
	int r;

	if (memory < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd_create: %m");
	r = run_loader(memory, err);
	if (r < 0)
		return r;
	n = pread(memory, gathered->kinds, sizeof(gathered->kinds) - 1, 0);
	return n < 0 ? mr_err(err, MR_E_SYS, errno, "read: %m") : 0;
}

/* All rows at once, in a file system of our own. */
static int gather_rows(struct mr_error *err)
{
	static const struct mr_fsopt opts[] = { { "mode", "0700" } };
	int fd = mr_mountfd_new("bpf", opts, N_ELEMENTS(opts), 0, err), r;
	struct mr_probes *probes = NULL;
	char path[32];
	size_t n;

	gathered->lacks_rights = fd == -EPERM;
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* The loader is to have it under the same number. */
	if (fcntl(fd, F_SETFD, 0) < 0 || setenv("MENACE_BPF_DIR", path, 1) < 0) {
		mr_close(fd);
		return mr_err(err, MR_E_SYS, errno, "hand on a descriptor: %m");
	}
	mr_probe_rows(&n);
	r = mr_probes_open(MR_PROBE_LEVEL_SYSCALLS, (1ULL << n) - 1, &probes, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		gathered->rows[i] = *mr_probes_state(probes, i);
	mr_probes_free(probes);
	mr_close(fd);
	return r;
}

void mr_doctor_gather(void)
{
	gathered->has_kinds = gather_kinds(&gathered->kinds_error) == 0;
	gathered->has_rows = gather_rows(&gathered->rows_error) == 0;
}

void mr_doctor_bpf_kind(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	size_t len = strlen(check->name);
	uint64_t errnum = 0;

	if (!gathered->has_kinds) {
		mr_doctor_say_error(answer, &gathered->kinds_error);
		return;
	}
	for (const char *line = gathered->kinds; *line; line += strcspn(line, "\n") + 1) {
		mr_auto_free char *number = NULL;

		if (strncmp(line, check->name, len) != 0 || line[len] != ' ')
			continue;
		number = mr_str_ndup(line + len + 1, strcspn(line + len + 1, "\n"));
		if (mr_units_parse_count(number, &errnum, NULL) < 0 || errnum > 4095)
			break;
		if (errnum)
			mr_doctor_say_missing(answer, (int)errnum, NULL);
		else
			mr_doctor_say_ok(answer, NULL);
		answer->lacks_rights = errnum == EPERM && gathered->lacks_rights;
		return;
	}
	mr_doctor_say_missing(answer, ENODATA, "menace-probe-load does not tell");
}

void mr_doctor_probe_row(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	const struct mr_wire_probe *row = &gathered->rows[check->number];
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	if (!gathered->has_rows) {
		mr_doctor_say_error(answer, &gathered->rows_error);
		answer->lacks_rights = gathered->lacks_rights;
	} else if (row->state == MR_PROBE_ON) {
		mr_doctor_say_ok(answer, "%s", rows[check->number].target);
	} else {
		/* Another way to the same fact will do. */
		for (size_t i = 0; i < n; i++)
			if (strcmp(rows[i].name, rows[check->number].name) == 0 &&
			    gathered->rows[i].state == MR_PROBE_ON) {
				mr_doctor_say_ok(answer, "not needed: %s is there in another way",
						 rows[i].name);
				return;
			}
		mr_doctor_say_missing(answer, row->errnum, row->why[0] ? "%s" : NULL, row->why);
	}
}

/* --- a run ---------------------------------------------------------------------------------- */

/* Nothing is kept of it, and nothing stays in the kernel. */
_Noreturn static void exec_menace_run(const char *path, int messages)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(messages, 2) == 2)
		execl(path, "menace-run", "--store", "none", "--telemetry", "off", "--", "true",
		      (char *)NULL);
	_exit(127);
}

void mr_doctor_default_run(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	mr_auto_close int messages = memfd_create("messages", MFD_CLOEXEC);
	char path[MR_SIBLING_MAX], text[400] = "";
	int status;
	pid_t pid;

	(void)check;
	if (messages < 0 || mr_sibling_find("menace-run", path, NULL) < 0) {
		mr_doctor_say_missing(answer, ENOENT, "menace-run is not beside menace");
		return;
	}
	pid = mr_doctor_fork();
	if (pid == 0)
		exec_menace_run(path, messages);
	status = pid < 0 ? -1 : wait_status(pid);
	if (status == 0) {
		mr_doctor_say_ok(answer, NULL);
		return;
	}
	if (pread(messages, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	mr_doctor_say_missing(answer, ECHILD, "%.180s", text[0] ? text : "it was ended");
}

/* --- the rest ------------------------------------------------------------------------------ */

struct qdisc_request {
	struct nlmsghdr header;
	struct tcmsg tc;
	char attributes[256];
};

static void add_attribute(struct qdisc_request *request, unsigned short type, const void *data,
			  size_t size)
{
	struct rtattr *attribute =
		(void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(size);
	memcpy(RTA_DATA(attribute), data, size);
	request->header.nlmsg_len =
		NLMSG_ALIGN(request->header.nlmsg_len) + (uint32_t)RTA_ALIGN(attribute->rta_len);
}

/* RTM_NEWQDISC and RTM_DELQDISC on the loopback of a network namespace of our own: 0 or -errno. */
static int change_qdisc(unsigned short type, unsigned short flags, const char *kind)
{
	struct qdisc_request request = {
		.header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			    .nlmsg_type = type,
			    .nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags) },
		.tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = 1, .tcm_parent = TC_H_ROOT },
	};
	const struct tc_netem_qopt opt = { .limit = 1000 };
	mr_auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} reply;
	const struct nlmsgerr *error = NLMSG_DATA(&reply.header);

	add_attribute(&request, TCA_KIND, kind, strlen(kind) + 1);
	add_attribute(&request, TCA_OPTIONS, &opt, sizeof(opt));
	if (fd < 0 || send(fd, &request, request.header.nlmsg_len, 0) < 0)
		return -errno;
	if (recv(fd, &reply, sizeof(reply), 0) < (ssize_t)NLMSG_LENGTH(sizeof(*error)))
		return errno ? -errno : -EBADMSG;
	return reply.header.nlmsg_type == NLMSG_ERROR ? error->error : -EBADMSG;
}

void mr_doctor_qdisc(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	char module[64];
	bool was_there;
	int r = unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0 ? -errno
											  : 0;

	snprintf(module, sizeof(module), "/sys/module/sch_%s", check->word);
	was_there = access(module, F_OK) == 0;
	if (r == 0)
		r = change_qdisc(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, check->word);
	if (r == 0)
		r = change_qdisc(RTM_DELQDISC, 0, check->word);
	/* The kernel may have loaded it for us: then it goes again, unless others use it by now. */
	if (!was_there && access(module, F_OK) == 0)
		(void)syscall(SYS_delete_module, strrchr(module, '/') + 1, O_NONBLOCK);
	if (r < 0)
		mr_doctor_say_missing(answer, -r, NULL);
	else
		mr_doctor_say_ok(answer, NULL);
}

/* What menace-run would be told: by the same program, in its own words. */
void mr_doctor_backend(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_backend_facts facts;
	struct mr_spec spec;

	mr_spec_init(&spec);
	mr_strv_add(&spec.argv, "true"); /* there is none without a program */
	mr_deputy_probe((enum mr_backend)check->number, &spec, &facts);
	mr_spec_deinit(&spec);
	if (facts.can)
		mr_doctor_say_ok(answer, NULL);
	else
		mr_doctor_say_missing(answer, EOPNOTSUPP, "%.199s", facts.why);
}

void mr_doctor_kvm(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	mr_auto_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	mr_auto_close int vm = -1;

	(void)check;
	if (fd < 0) {
		mr_doctor_say_missing(answer, errno, "/dev/kvm: %m");
		return;
	}
	vm = ioctl(fd, KVM_CREATE_VM, 0);
	if (vm < 0)
		mr_doctor_say_missing(answer, errno, "/dev/kvm: make a machine: %m");
	else
		mr_doctor_say_ok(answer, "API %d; whether a guest runs only a guest can tell",
				 ioctl(fd, KVM_GET_API_VERSION, 0));
}
