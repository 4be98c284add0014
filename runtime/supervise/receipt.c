/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipt
 *
 * The payload is stopped before its exec while this is read, so what is seen is what
 * will hold: rights only shrink from there.
 */
#include "runtime/supervise/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/launch/seccomp.h"

/* The payload may bring a reason about, and as often as it likes: each is told once, and those of one
 * item take no room from another's. */
void mr_receipt_degrade(struct mr_receipt *receipt, const char *item, const char *fmt, ...)
{
	struct mr_degraded row = { .item = item };
	size_t told = 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(row.why, sizeof(row.why), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < receipt->n_degraded; i++) {
		if (strcmp(receipt->degraded[i].item, item) != 0)
			continue;
		if (strcmp(receipt->degraded[i].why, row.why) == 0)
			return;
		told++;
	}
	if (told == MR_RECEIPT_REASONS || receipt->n_degraded == MR_RECEIPT_MAX_DEGRADED)
		return;
	if (told == MR_RECEIPT_REASONS - 1)
		snprintf(row.why, sizeof(row.why), MR_RECEIPT_MORE);
	receipt->degraded[receipt->n_degraded++] = row;
}

void mr_receipt_begin(struct mr_receipt *receipt, const struct mr_launched *launched)
{
	receipt->ns_made = launched->namespaces;
	for (unsigned int i = 0; i < MR_NS_COUNT_; i++) {
		char path[64];
		struct stat st;

		if (i == MR_NS_CGROUP || (i == MR_NS_NET && launched->takes_netns))
			continue; /* made or joined later by the child; see mr_receipt_built() */
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", launched->init_pid, mr_ns_name(i));
		if (stat(path, &st) == 0)
			receipt->ns_inode[i] = st.st_ino;
	}
	if (launched->no_time_ns)
		mr_receipt_degrade(receipt, "time-ns", "this kernel has no time namespaces");
	if (launched->no_idmap[0])
		mr_receipt_degrade(receipt, "workspace-idmap", "%s", launched->no_idmap);
}

static int read_proc(pid_t pid, const char *file, char *buf, size_t size, struct mr_error *err)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	n = mr_read_file_at(AT_FDCWD, path, buf, size);
	return n < 0 ? mr_err(err, MR_E_SYS, (int)-n, "read %s: %m", path) : (int)n;
}

/* "Uid:\t1\t1\t1\t1": all four must be the same. */
static int read_id(const char *status, const char *key, uint32_t *ret, struct mr_error *err)
{
	const char *line = strstr(status, key);
	unsigned int id[4];

	if (!line || sscanf(line + strlen(key), "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return mr_err(err, MR_E_KERNEL, EINVAL, "no line %s in the payload's status",
			      key + 1);
	if (id[0] != id[1] || id[0] != id[2] || id[0] != id[3])
		return mr_err(err, MR_E_KERNEL, EPERM, "the payload's ids differ: %s %u %u %u %u",
			      key + 1, id[0], id[1], id[2], id[3]);
	*ret = id[0];
	return 0;
}

static int check_identity(struct mr_receipt *r, const struct mr_receipt_input *in,
			  struct mr_error *err)
{
	const struct mr_ids *ids = &in->launched->ids;
	const bool keeps_caps = in->spec->sandbox_level == 1;
	char status[4096];
	int n = read_proc(in->payload_pid, "status", status, sizeof(status), err);

	if (n >= 0)
		n = read_id(status, "\nUid:", &r->uid, err);
	if (n >= 0)
		n = read_id(status, "\nGid:", &r->gid, err);
	if (n >= 0)
		n = mr_caps_parse_status(status, &r->caps, err);
	if (n < 0)
		return n;
	if (r->uid != ids->host_uid || r->gid != ids->host_gid)
		return mr_err(err, MR_E_KERNEL, EPERM, "the payload is user %u group %u, not %u:%u",
			      r->uid, r->gid, ids->host_uid, ids->host_gid);
	if (!keeps_caps && (r->caps.effective | r->caps.permitted | r->caps.inheritable |
			    r->caps.ambient | r->caps.bounding))
		return mr_err(err, MR_E_KERNEL, EPERM, "the payload still has capabilities");
	if (r->caps.no_new_privs != 1 || r->caps.seccomp != 2)
		return mr_err(err, MR_E_KERNEL, EPERM, "no_new_privs is %u, seccomp mode %u",
			      r->caps.no_new_privs, r->caps.seccomp);
	return 0;
}

static int check_namespaces(struct mr_receipt *r, const struct mr_receipt_input *in,
			    struct mr_error *err)
{
	for (unsigned int i = 0; i < MR_NS_COUNT_; i++) {
		char path[64];
		struct stat own, st;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", in->launched->init_pid,
			 mr_ns_name(i));
		if ((i == MR_NS_CGROUP || i == MR_NS_NET) && stat(path, &st) == 0)
			r->ns_inode[i] = st.st_ino; /* joined or made after the start */
		if (!(r->ns_made & (1U << i)) || !r->ns_inode[i])
			continue;
		snprintf(path, sizeof(path), "/proc/self/ns/%s", mr_ns_name(i));
		if (stat(path, &own) == 0 && own.st_ino == r->ns_inode[i])
			return mr_err(err, MR_E_KERNEL, EPERM,
				      "the payload is in our own %s namespace", mr_ns_name(i));
	}
	if (in->spec->net_mode != MR_NET_HOST && !(r->ns_made & (1U << MR_NS_NET)))
		return mr_err(err, MR_E_BUG, EINVAL, "no network namespace was made");
	return 0;
}

/* What the kernel shows may be rounded down to whole pages, never up. */
static int check_limit(const struct mr_cgroup_shown *shown, uint64_t asked, struct mr_error *err)
{
	const uint64_t page = 4096;

	if (asked == MR_UNLIMITED || (shown->value <= asked && shown->value + page > asked))
		return 0;
	return mr_err(err, MR_E_KERNEL, EINVAL, "%s is %ju, asked for was %ju", shown->file,
		      (uintmax_t)shown->value, (uintmax_t)asked);
}

static const struct mr_cgroup_shown *find_shown(const struct mr_receipt *r, const char *key)
{
	for (size_t i = 0; i < r->n_limits; i++) {
		if (strcmp(r->limits[i].key, key) == 0)
			return &r->limits[i];
	}
	return NULL;
}

static bool is_degraded(const struct mr_receipt *r, const char *item)
{
	for (size_t i = 0; i < r->n_degraded; i++)
		if (strcmp(r->degraded[i].item, item) == 0)
			return true;
	return false;
}

/* A short quota may be applied with another period: what counts is the share. */
static int check_cpu_share(const struct mr_receipt *r, uint64_t asked_milli, struct mr_error *err)
{
	const struct mr_cgroup_shown *quota = find_shown(r, "cpu_quota_us");
	const struct mr_cgroup_shown *period = find_shown(r, "cpu_period_us");

	if (asked_milli == MR_UNLIMITED || is_degraded(r, "cpu"))
		return 0;
	if (quota && period && quota->value != MR_UNLIMITED && period->value &&
	    quota->value * 1000 <= asked_milli * period->value)
		return 0;
	return mr_err(err, MR_E_KERNEL, EINVAL, "limits.cpus=%ju/1000 is not what the kernel shows",
		      (uintmax_t)asked_milli);
}

static int check_cgroup(struct mr_receipt *r, const struct mr_receipt_input *in,
			struct mr_error *err)
{
	const struct mr_spec *spec = in->spec;
	const struct {
		const char *key, *item;
		uint64_t asked;
	} amounts[] = {
		{ "memory_max_bytes", "memory", spec->limits_memory_max_bytes },
		{ "pids_max", "pids", spec->limits_pids_max },
	};
	int n;

	r->cgroup_mode = in->cgroup_mode;
	if (!in->cgroup)
		return 0;
	snprintf(r->cgroup_path, sizeof(r->cgroup_path), "%s", mr_cgroup_path(in->cgroup));
	snprintf(r->cgroup_note, sizeof(r->cgroup_note), "%s", mr_cgroup_note(in->cgroup));
	n = mr_cgroup_show_limits(in->cgroup, r->limits, N_ELEMENTS(r->limits), &r->n_limits, err);
	for (size_t i = 0; n >= 0 && i < N_ELEMENTS(amounts); i++) {
		const struct mr_cgroup_shown *shown = find_shown(r, amounts[i].key);

		if (is_degraded(r, amounts[i].item))
			continue;
		if (amounts[i].asked != MR_UNLIMITED && !shown)
			n = mr_err(err, MR_E_KERNEL, EINVAL, "the kernel shows no %s",
				   amounts[i].key);
		else if (shown)
			n = check_limit(shown, amounts[i].asked, err);
	}
	return n < 0 ? n : check_cpu_share(r, spec->limits_cpus, err);
}

/* The payload's own lines, each holding our group's path, in every hierarchy we use. */
static int check_membership(const struct mr_receipt_input *in, struct mr_error *err)
{
	char text[4096], name[80];
	const char *path = in->cgroup ? mr_cgroup_path(in->cgroup) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	int n;

	if (!slash)
		return 0;
	n = read_proc(in->payload_pid, "cgroup", text, sizeof(text), err);
	if (n < 0)
		return n;
	snprintf(name, sizeof(name), "/menace%.70s\n", slash);
	if (!strstr(text, name))
		return mr_err(err, MR_E_KERNEL, EPERM, "the payload is not in the control group %s",
			      path);
	return 0;
}

unsigned int mr_receipt_count_roots(const char *mountinfo)
{
	unsigned int n = 0;

	for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
		const char *field = line += *line == '\n';

		for (int i = 0; i < 4 && field; i++)
			field = strchr(field, ' ') ? strchr(field, ' ') + 1 : NULL;
		n += field && field[0] == '/' && field[1] == ' ';
	}
	return n;
}

static int read_mounts(struct mr_receipt *r, const struct mr_receipt_input *in,
		       struct mr_error *err)
{
	enum { MAX = 256 * 1024 };
	mr_auto_free char *text = malloc(MAX);
	int n;

	if (!text)
		return mr_err(err, MR_E_SYS, ENOMEM, "mount table: %m");
	n = read_proc(in->payload_pid, "mountinfo", text, MAX, err);
	if (n < 0)
		return n;
	mr_hash_hex(text, (size_t)n, r->mounts_hash);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		r->n_mounts++;
	if (mr_receipt_count_roots(text) != 1)
		return mr_err(err, MR_E_KERNEL, EPERM,
			      "something is mounted over the sandbox's root: the host's file tree "
			      "is "
			      "not gone");
	return 0;
}

/* Names of the links in /proc/PID/net/dev: two lines of heading, then "  lo: numbers". */
static int read_network(struct mr_receipt *r, const struct mr_receipt_input *in,
			struct mr_error *err)
{
	char text[8192];
	char *save = NULL, *line;
	int n = read_proc(in->payload_pid, "net/dev", text, sizeof(text), err), row = 0;

	if (n < 0)
		return n;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t used = strlen(r->links);
		char *colon = strchr(line, ':');

		if (row++ < 2 || !colon)
			continue;
		*colon = '\0';
		line += strspn(line, " ");
		snprintf(r->links + used, sizeof(r->links) - used, "%s%s", used ? "," : "", line);
	}
	n = read_proc(in->payload_pid, "net/route", text, sizeof(text), err);
	if (n < 0)
		return n;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		r->n_routes++;
	r->n_routes -= r->n_routes > 0; /* the heading */
	if (in->spec->net_mode == MR_NET_HOST)
		return 0;
	/* Tunnel devices that some kernels put into every namespace are down and lead nowhere; a
	 * route would not be. */
	if (in->spec->net_mode == MR_NET_NONE && r->n_routes)
		return mr_err(err, MR_E_KERNEL, EPERM, "the sandbox without network has %u routes",
			      r->n_routes);
	return 0;
}

/* The one that was joined is only seen then; where init was gone already it says itself why. */
static int check_joined(const struct mr_receipt *r, const struct mr_receipt_input *in,
			struct mr_error *err)
{
	if (!in->launched->takes_netns || r->ns_inode[MR_NS_NET])
		return 0;
	return mr_err(err, MR_E_KERNEL, ENOENT,
		      "/proc does not show the payload's network namespace");
}

int mr_receipt_built(struct mr_receipt *r, const struct mr_receipt_input *in, struct mr_error *err)
{
	const struct sock_fprog *filter = mr_seccomp_program(&in->launched->policy);
	int n = check_namespaces(r, in, err);

	if (n >= 0)
		n = check_cgroup(r, in, err);
	if (n < 0)
		return mr_err_wrap(err, n, "verify");
	mr_seccomp_hash(filter, r->filter_hash);
	r->filter_length = filter->len;
	r->built = 1;
	return 0;
}

int mr_receipt_complete(struct mr_receipt *r, const struct mr_receipt_input *in,
			struct mr_error *err)
{
	int n = r->built ? check_identity(r, in, err)
			 : mr_err(err, MR_E_PROTO, EPROTO,
				  "the payload is there before its sandbox");

	if (n >= 0)
		n = check_joined(r, in, err);
	if (n >= 0)
		n = check_membership(in, err);
	if (n >= 0)
		n = read_mounts(r, in, err);
	if (n >= 0)
		n = read_network(r, in, err);
	if (n < 0)
		return mr_err_wrap(err, n, "verify");
	r->landlock_abi = in->landlock_abi;
	r->notified = in->has_listener;
	if (!in->has_listener && !mr_spec_tolerates(in->spec, "seccomp-listener"))
		return mr_err(err, MR_E_KERNEL, EBUSY,
			      "denied system calls cannot be recorded: another seccomp listener is "
			      "above us (a container's?); --best-effort seccomp-listener does "
			      "without");
	r->complete = 1;
	return 0;
}
