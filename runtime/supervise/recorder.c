/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorder
 *
 * Sets are JSON objects, which are hash tables already; their keys are bytes as
 * they came and are made text only at the end.
 */
#include "runtime/supervise/recorder.h"

#include <arpa/inet.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/policy.h"
#include "runtime/supervise/notify_paths.h"

void mr_recorder_init(struct mr_recorder *recorder, int pool_fd)
{
	*recorder = (struct mr_recorder){ .paths = json_object(),
					  .program = json_object(),
					  .made = json_object(),
					  .moves = json_object(),
					  .hosts = json_object(),
					  .pool_fd = pool_fd };
}

void mr_recorder_deinit(struct mr_recorder *recorder)
{
	json_decref(recorder->paths);
	json_decref(recorder->program);
	json_decref(recorder->made);
	json_decref(recorder->moves);
	json_decref(recorder->hosts);
	*recorder = (struct mr_recorder){ .pool_fd = -1 };
}

/* --- paths ------------------------------------------------------------------- */

/* "/proc/17/maps", "/proc/self/maps": who that is differs from run to run. */
static bool is_of_a_process(const char *path)
{
	const char *name = path + strlen("/proc/");

	if (!mr_str_starts_with(path, "/proc/"))
		return false;
	return mr_str_is_under(path, "/proc/self") || (name[0] >= '0' && name[0] <= '9');
}

/* Bytes of path that name something the run did not make: all of it, or a folder's with its
 * slash. */
static size_t lasting_part(const struct mr_recorder *recorder, const char *path)
{
	mr_auto_free char *copy = mr_str_dup(path);
	size_t folder = 1;

	if (is_of_a_process(path))
		return strlen("/proc/");
	if (json_object_size(recorder->made) == 0)
		return strlen(path);
	for (size_t i = 1;; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		copy[i] = '\0';
		if (json_object_get(recorder->made, copy))
			return folder;
		if (path[i] == '\0' || path[i + 1] == '\0')
			return strlen(path);
		copy[i] = '/';
		folder = i + 1;
	}
}

void mr_recorder_note_path(struct mr_recorder *recorder, const char *path, unsigned int access)
{
	mr_auto_free char *key = mr_str_ndup(path, lasting_part(recorder, path));
	json_t *known = json_object_get(recorder->paths, key);

	if (known) {
		json_integer_set(known, json_integer_value(known) | access);
		return;
	}
	if (json_object_size(recorder->paths) >= MR_RECORDER_MAX_PATHS)
		recorder->full = true;
	else
		json_object_set_new_nocheck(recorder->paths, key, json_integer(access));
}

void mr_recorder_note_program(struct mr_recorder *recorder, const char *path)
{
	json_object_set_new_nocheck(recorder->program, path, json_true());
}

void mr_recorder_note_made(struct mr_recorder *recorder, const char *path)
{
	if (json_object_size(recorder->made) >= MR_RECORDER_MAX_PATHS)
		recorder->full = true;
	else
		json_object_set_new_nocheck(recorder->made, path, json_true());
}

void mr_recorder_note_move(struct mr_recorder *recorder, const char *from, const char *to)
{
	mr_auto_free char *a = mr_str_ndup(from, lasting_part(recorder, from));
	mr_auto_free char *b = mr_str_ndup(to, lasting_part(recorder, to));
	json_t *pair;

	if (strcmp(a, b) == 0)
		return;
	if (json_object_size(recorder->moves) >= MR_RECORDER_MAX_PATHS) {
		recorder->full = true;
		return;
	}
	mr_auto_free char *key = mr_str_format("%s\n%s", a, b);

	/* Names that are no UTF-8 make no JSON text: kept as keys. */
	pair = json_pack("[o, o]", json_object(), json_object());
	json_object_set_new_nocheck(json_array_get(pair, 0), a, json_true());
	json_object_set_new_nocheck(json_array_get(pair, 1), b, json_true());
	json_object_set_new_nocheck(recorder->moves, key, pair);
}

static json_t *access_of_end(const struct mr_recorder *recorder, const json_t *pair, size_t end)
{
	json_t *holder = json_array_get(pair, end);

	return json_object_get(recorder->paths, json_object_iter_key(json_object_iter(holder)));
}

/* Both folders of a move get what either has, and so on along chains of moves. */
static void join_moves(const struct mr_recorder *recorder)
{
	const char *key;
	json_t *pair;
	bool grown = true;

	while (grown) {
		grown = false;
		json_object_foreach (recorder->moves, key, pair) {
			json_t *a = access_of_end(recorder, pair, 0);
			json_t *b = access_of_end(recorder, pair, 1);
			json_int_t both = json_integer_value(a) | json_integer_value(b);

			if (!a || !b ||
			    (json_integer_value(a) == both && json_integer_value(b) == both))
				continue;
			json_integer_set(a, both);
			json_integer_set(b, both);
			grown = true;
		}
	}
}

/* --- addresses ------------------------------------------------------------------ */

#define MESSAGES_MAX 64 /* of one sendmmsg whose addresses are read */

struct socket {
	int domain; /* AF_UNSPEC where it cannot be told */
	const char *protocol; /* "any" where it cannot be told */
};

/* Of the caller's descriptor. */
static struct socket look_at_socket(const struct mr_notify *notify)
{
	mr_auto_close int pidfd = mr_pidfd_open((pid_t)notify->req->pid, 0);
	mr_auto_close int copy = -1;
	struct socket ret = { AF_UNSPEC, "any" };
	socklen_t size = sizeof(int);
	int protocol = 0;

	if (pidfd >= 0)
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)notify->req->data.args[0], 0);
	if (copy < 0 || getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) < 0)
		return ret;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
		ret.protocol = protocol == IPPROTO_TCP ? "tcp" : "udp";
	if (getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &ret.domain, &size) < 0)
		ret.domain = AF_UNSPEC;
	return ret;
}

/* unnamed: what a family that is left out stands for where the socket is of IPv4.  The kernel sends
 * to such an address as to one of IPv4; a connect to it is none. */
static void note_address(struct mr_recorder *recorder, const struct mr_notify *notify,
			 const void *addr, size_t size, sa_family_t unnamed)
{
	const struct socket socket = look_at_socket(notify);
	char host[INET6_ADDRSTRLEN], key[96];
	struct sockaddr_in6 in6 = { 0 };
	struct sockaddr_in in;
	unsigned int port;

	memcpy(&in6, addr, size < sizeof(in6) ? size : sizeof(in6));
	memcpy(&in, &in6, sizeof(in));
	if (in.sin_family == AF_UNSPEC && socket.domain == AF_INET)
		in.sin_family = unnamed;
	if (in.sin_family == AF_INET)
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
	else if (in.sin_family == AF_INET6)
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
	else
		return;
	port = ntohs(in.sin_port);
	snprintf(key, sizeof(key), "%s %u %s", host, port, socket.protocol);
	if (json_object_size(recorder->hosts) >= MR_RECORDER_MAX_HOSTS)
		recorder->full = true;
	else if (port > 0)
		json_object_set_new(recorder->hosts, key,
				    json_pack("{s:s, s:i, s:s}", "host", host, "port", (int)port,
					      "protocol", socket.protocol));
}

/* Bytes of the caller's memory; short of `size`, or -1, where there are no more.  What is not read
 * makes the record incomplete, unless the caller is gone, who then does nothing. */
static ssize_t read_or_tell(struct mr_recorder *recorder, const struct mr_notify *notify,
			    uint64_t at, void *buf, size_t size)
{
	ssize_t n = mr_notify_read_memory(notify, at, buf, size);

	if (n < (ssize_t)size && mr_notify_is_valid(notify))
		recorder->full = true;
	return n;
}

static void note_name(struct mr_recorder *recorder, const struct mr_notify *notify, uint64_t at,
		      uint32_t size, sa_family_t unnamed)
{
	unsigned char addr[sizeof(struct sockaddr_in6)];
	ssize_t n;

	if (!at || size == 0)
		return;
	n = read_or_tell(recorder, notify, at, addr, size < sizeof(addr) ? size : sizeof(addr));
	if (n >= (ssize_t)sizeof(struct sockaddr_in))
		note_address(recorder, notify, addr, (size_t)n, unnamed);
}

static void note_connect(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	const __u64 *args = notify->req->data.args;

	note_name(recorder, notify, args[1], (uint32_t)args[2], AF_UNSPEC);
}

static void note_sendto(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	const __u64 *args = notify->req->data.args;

	note_name(recorder, notify, args[4], (uint32_t)args[5], AF_INET);
}

/* False: it cannot be read. */
static bool note_message(struct mr_recorder *recorder, const struct mr_notify *notify, uint64_t at)
{
	struct msghdr message;

	if (read_or_tell(recorder, notify, at, &message, sizeof(message)) !=
	    (ssize_t)sizeof(message))
		return false;
	note_name(recorder, notify, (uintptr_t)message.msg_name, message.msg_namelen, AF_INET);
	return true;
}

static void note_sendmsg(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	note_message(recorder, notify, notify->req->data.args[1]);
}

static void note_sendmmsg(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	const uint64_t at = notify->req->data.args[1];
	const uint32_t n = (uint32_t)notify->req->data.args[2];

	for (uint32_t i = 0; i < n && i < MESSAGES_MAX; i++)
		if (!note_message(recorder, notify, at + i * sizeof(struct mmsghdr)))
			return;
	if (n > MESSAGES_MAX)
		recorder->full = true;
}

/* Calls that say where something goes. */
static const struct {
	const char *name;
	void (*note)(struct mr_recorder *recorder, const struct mr_notify *notify);
} connections[] = {
	{ "connect", note_connect },
	{ "sendto", note_sendto },
	{ "sendmsg", note_sendmsg },
	{ "sendmmsg", note_sendmmsg },
};

static void note_connection(struct mr_recorder *recorder, const struct mr_notify *notify,
			    const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(connections); i++)
		if (strcmp(name, connections[i].name) == 0)
			connections[i].note(recorder, notify);
}

/* --- calls and peaks -------------------------------------------------------------- */

/* How many descriptors a process has is the size of the folder from Linux 6.2 on. */
static void look_at_peaks(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd", notify->req->pid);
	if (stat(path, &st) == 0 && (uint64_t)st.st_size > recorder->nofile_peak)
		recorder->nofile_peak = (uint64_t)st.st_size;
	mr_recorder_finish(recorder);
}

void mr_recorder_finish(struct mr_recorder *recorder)
{
	struct statvfs fs;
	uint64_t used;

	if (recorder->pool_fd < 0 || fstatvfs(recorder->pool_fd, &fs) < 0 || !fs.f_blocks)
		return;
	used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	recorder->knows_disk = true;
	if (used > recorder->disk_peak)
		recorder->disk_peak = used;
}

void mr_recorder_note_call(struct mr_recorder *recorder, const struct mr_notify *notify)
{
	const unsigned int nr = (unsigned int)notify->req->data.nr;
	const char *name = mr_policy_call_name(nr);

	if (!name)
		return;
	recorder->calls[nr / 64] |= UINT64_C(1) << nr % 64;
	note_connection(recorder, notify, name);
	if (strcmp(name, "close") == 0 || strncmp(name, "open", 4) == 0 ||
	    strncmp(name, "unlink", 6) == 0 || strncmp(name, "exit", 4) == 0)
		look_at_peaks(recorder, notify);
}

/* --- the document ------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keys of an object in order; malloc'd. */
static const char **sorted_keys(json_t *object, size_t *ret_n)
{
	const char **keys = mr_str_alloc((json_object_size(object) + 1) * sizeof(*keys));
	const char *key;
	json_t *value;

	*ret_n = 0;
	json_object_foreach (object, key, value)
		keys[(*ret_n)++] = key;
	qsort(keys, *ret_n, sizeof(*keys), compare_names);
	return keys;
}

static json_t *paths_json(const struct mr_recorder *recorder)
{
	json_t *list = json_array();
	size_t n;
	mr_auto_free const char **keys = sorted_keys(recorder->paths, &n);

	for (size_t i = 0; i < n; i++) {
		json_int_t access = json_integer_value(json_object_get(recorder->paths, keys[i]));

		json_array_append_new(list, json_pack("{s:o, s:o}", "path",
						      mr_policy_path_json(keys[i]), "access",
						      mr_policy_access_json((unsigned int)access)));
	}
	return list;
}

static json_t *program_json(const struct mr_recorder *recorder)
{
	json_t *list = json_array();
	size_t n;
	mr_auto_free const char **keys = sorted_keys(recorder->program, &n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, mr_policy_path_json(keys[i]));
	return list;
}

static json_t *hosts_json(const struct mr_recorder *recorder)
{
	json_t *list = json_array();
	size_t n;
	mr_auto_free const char **keys = sorted_keys(recorder->hosts, &n);

	for (size_t i = 0; i < n; i++)
		json_array_append(list, json_object_get(recorder->hosts, keys[i]));
	return list;
}

static json_t *syscalls_json(const struct mr_recorder *recorder)
{
	const char *names[512];
	json_t *list = json_array();
	size_t n = 0;

	for (unsigned int nr = 0; nr < N_ELEMENTS(names); nr++)
		if (recorder->calls[nr / 64] >> nr % 64 & 1)
			names[n++] = mr_policy_call_name(nr);
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *number_or_null(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

json_t *mr_recorder_to_json(const struct mr_recorder *recorder)
{
	join_moves(recorder);
	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "complete", !recorder->full,
			 "syscalls", syscalls_json(recorder), "paths", paths_json(recorder),
			 "program", program_json(recorder), "hosts", hosts_json(recorder), "peak",
			 "nofile", number_or_null(recorder->nofile_peak), "disk_bytes",
			 recorder->knows_disk ? json_integer((json_int_t)recorder->disk_peak)
					      : json_null());
}
