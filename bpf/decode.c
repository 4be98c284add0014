/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode
 *
 * One row of kinds[] is one type of record: its fixed size and the function that
 * reads it.  A function is called with at least that many bytes.
 */
#include "bpf/decode.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/event.h"

_Static_assert(MR_EVENT_FRAMES_MAX == MR_WIRE_FRAMES, "the same");
_Static_assert(MR_EVENT_MODULES_MAX == MR_WIRE_MODULES, "the same");
_Static_assert(MR_EVENT_PATH_MAX == MR_WIRE_MODULE_PATH + 1, "a slash for each NUL, and one NUL");

static void set_comm(struct mr_event *e, const char comm[16])
{
	memcpy(e->comm, comm, 16);
	e->comm[16] = '\0';
}

static int read_fork(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_fork w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	set_comm(e, w.comm);
	e->fork.child_pid = w.child_pid;
	e->fork.child_inner_pid = w.child_inner_pid;
	e->fork.start_ns = w.start_ns;
	return 0;
}

static bool is_place(const char *names, size_t size)
{
	return size <= MR_WIRE_PLACE_MAX && (size == 0 || names[size - 1] == '\0');
}

static int read_exec(const void *record, size_t size, struct mr_event *e)
{
	const char *text = (const char *)record + sizeof(struct mr_wire_exec);
	const char *places;
	struct mr_wire_exec w;

	memcpy(&w, record, sizeof(w));
	if ((size_t)w.exe_bytes + w.argv_kept + w.file_bytes + w.cwd_bytes != size - sizeof(w))
		return -EPROTO;
	places = text + w.exe_bytes + w.argv_kept;
	if (!is_place(places, w.file_bytes) || !is_place(places + w.file_bytes, w.cwd_bytes))
		return -EPROTO;
	if (w.exe_bytes && text[w.exe_bytes - 1] != '\0')
		return -EPROTO;
	if (w.argv_kept > w.argv_bytes)
		return -EPROTO;
	set_comm(e, w.comm);
	e->exec.start_ns = w.start_ns;
	e->exec.exe = w.exe_bytes ? text : "";
	e->exec.exe_truncated = w.flags & MR_WIRE_EXEC_EXE_CUT;
	e->exec.fileless = w.flags & MR_WIRE_EXEC_FILELESS;
	e->exec.from_thread = w.old_tid != w.h.pid;
	e->exec.parent_pid = w.parent_pid;
	e->exec.argc = w.argc;
	e->exec.device = w.device;
	e->exec.inode = w.inode;
	e->exec.argv = text + w.exe_bytes;
	e->exec.argv_kept = w.argv_kept;
	e->exec.argv_bytes = w.argv_bytes;
	e->exec.argv_truncated = w.argv_kept < w.argv_bytes;
	e->exec.argv_unreadable = w.flags & MR_WIRE_EXEC_NO_ARGV;
	e->exec.file =
		(struct mr_event_place){ places, w.file_bytes, w.flags & MR_WIRE_EXEC_FILE_CUT };
	e->exec.cwd = (struct mr_event_place){ places + w.file_bytes, w.cwd_bytes,
					       w.flags & MR_WIRE_EXEC_CWD_CUT };
	return 0;
}

static int read_exit(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_exit w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	set_comm(e, w.comm);
	e->exit.start_ns = w.start_ns;
	e->exit.wait_status = w.exit_code;
	e->exit.oom_victim = w.flags & MR_WIRE_EXIT_OOM;
	e->exit.rss_max_bytes = w.rss_max_bytes;
	return 0;
}

/* Names from the file up to the root, each with its NUL, become a path. */
static int read_path(const struct mr_wire_module *w, char ret[MR_EVENT_PATH_MAX])
{
	const size_t size = w->path_bytes;

	if (size > sizeof(w->path) || (size && w->path[size - 1] != '\0'))
		return -EPROTO;
	mr_event_path(w->path, size, ret);
	return 0;
}

static int read_module(const char *record, struct mr_event_module *module)
{
	struct mr_wire_module w;

	memcpy(&w, record, sizeof(w));
	module->start = w.start;
	module->end = w.end;
	module->offset = w.offset;
	module->inode = w.inode;
	module->device = w.device;
	module->is_cut = w.flags & MR_WIRE_MODULE_CUT;
	module->is_nameless = w.flags & MR_WIRE_MODULE_NAMELESS;
	return read_path(&w, module->path);
}

static int read_crash(const void *record, size_t size, struct mr_event *e)
{
	const char *modules = (const char *)record + sizeof(struct mr_wire_crash);
	struct mr_wire_crash w;

	memcpy(&w, record, sizeof(w));
	if (w.n_frames > MR_EVENT_FRAMES_MAX || w.n_modules > MR_EVENT_MODULES_MAX ||
	    size - sizeof(w) != w.n_modules * sizeof(struct mr_wire_module))
		return -EPROTO;
	set_comm(e, w.comm);
	e->crash.signal = (int)w.signal;
	e->crash.code = w.code;
	e->crash.address = w.address;
	e->crash.n_frames = w.n_frames;
	memcpy(e->crash.frames, w.frames, sizeof(w.frames));
	e->crash.n_modules = w.n_modules;
	for (size_t i = 0; i < w.n_modules; i++)
		if (read_module(modules + i * sizeof(struct mr_wire_module), &e->crash.modules[i]) <
		    0)
			return -EPROTO;
	return 0;
}

static int read_net(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_net w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	if (w.port > 65535)
		return -EPROTO;
	set_comm(e, w.comm);
	e->net.family = w.family;
	e->net.kind = w.kind;
	e->net.protocol = w.protocol;
	e->net.port = w.port;
	memcpy(e->net.address, w.address, sizeof(e->net.address));
	return 0;
}

static int read_dns(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_dns w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	if (w.kept > sizeof(w.question) ||
	    (w.transport != IPPROTO_TCP && w.transport != IPPROTO_UDP))
		return -EPROTO;
	set_comm(e, w.comm);
	e->dns.by_tcp = w.transport == IPPROTO_TCP;
	e->dns.family = w.family;
	e->dns.questions = w.questions;
	memcpy(e->dns.address, w.address, sizeof(e->dns.address));
	e->dns.question = (const uint8_t *)record + offsetof(struct mr_wire_dns, question);
	e->dns.kept = w.kept;
	return 0;
}

static int read_tcp(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_tcp w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	if (w.what >= MR_WIRE_TCP_WHAT_COUNT_ || w.local_port > 65535 || w.remote_port > 65535)
		return -EPROTO;
	set_comm(e, w.comm);
	e->tcp.what = (enum mr_event_tcp_what)w.what;
	e->tcp.cookie = w.cookie;
	e->tcp.sent_bytes = w.sent_bytes;
	e->tcp.received_bytes = w.received_bytes;
	e->tcp.family = w.family;
	e->tcp.local_port = w.local_port;
	e->tcp.remote_port = w.remote_port;
	e->tcp.segments_out = w.segments_out;
	e->tcp.segments_in = w.segments_in;
	e->tcp.retransmits = w.retransmits;
	e->tcp.rtt_us = w.rtt_us;
	e->tcp.error = w.error;
	memcpy(e->tcp.local, w.local, sizeof(e->tcp.local));
	memcpy(e->tcp.remote, w.remote, sizeof(e->tcp.remote));
	return 0;
}

static int read_attempt(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_attempt w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	set_comm(e, w.comm);
	e->attempt.nr = w.nr;
	memcpy(e->attempt.args, w.args, sizeof(e->attempt.args));
	return 0;
}

static int read_open(const void *record, size_t size, struct mr_event *e)
{
	struct mr_wire_open w;

	(void)size;
	memcpy(&w, record, sizeof(w));
	if (w.path_bytes > sizeof(w.path) || (w.path_bytes && w.path[w.path_bytes - 1] != '\0'))
		return -EPROTO;
	set_comm(e, w.comm);
	e->open.path =
		w.path_bytes ? (const char *)record + offsetof(struct mr_wire_open, path) : "";
	e->open.to_write = w.flags & MR_WIRE_OPEN_WRITE;
	e->open.secret = w.flags & MR_WIRE_OPEN_SECRET;
	e->open.device = w.device;
	e->open.inode = w.inode;
	return 0;
}

_Static_assert((int)MR_WIRE_TCP_FAILED == (int)MR_EVENT_TCP_FAILED, "the same words");

static const struct kind {
	enum mr_event_type type;
	size_t fixed, extra_max;
	int (*read)(const void *record, size_t size, struct mr_event *e);
} kinds[MR_WIRE_TYPE_COUNT_] = {
	[MR_WIRE_FORK] = { MR_EVENT_fork, sizeof(struct mr_wire_fork), 0, read_fork },
	[MR_WIRE_EXEC] = { MR_EVENT_exec, sizeof(struct mr_wire_exec), MR_WIRE_EXEC_TEXT_MAX,
			   read_exec },
	[MR_WIRE_EXIT] = { MR_EVENT_exit, sizeof(struct mr_wire_exit), 0, read_exit },
	[MR_WIRE_CRASH] = { MR_EVENT_crash, sizeof(struct mr_wire_crash),
			    MR_WIRE_MODULES * sizeof(struct mr_wire_module), read_crash },
	[MR_WIRE_SOCKET] = { MR_EVENT_socket, sizeof(struct mr_wire_net), 0, read_net },
	[MR_WIRE_CONNECT] = { MR_EVENT_connect, sizeof(struct mr_wire_net), 0, read_net },
	[MR_WIRE_BIND] = { MR_EVENT_bind, sizeof(struct mr_wire_net), 0, read_net },
	[MR_WIRE_SENDMSG] = { MR_EVENT_sendmsg, sizeof(struct mr_wire_net), 0, read_net },
	[MR_WIRE_DNS] = { MR_EVENT_dns, sizeof(struct mr_wire_dns), 0, read_dns },
	[MR_WIRE_TCP] = { MR_EVENT_tcp, sizeof(struct mr_wire_tcp), 0, read_tcp },
	[MR_WIRE_ATTEMPT] = { MR_EVENT_attempt, sizeof(struct mr_wire_attempt), 0, read_attempt },
	[MR_WIRE_OPEN] = { MR_EVENT_open, sizeof(struct mr_wire_open), 0, read_open },
};

int mr_decode(const void *record, size_t size, uint64_t generation, struct mr_event *ret,
	      struct mr_event_module *modules, struct mr_error *err)
{
	struct mr_wire_header h;
	const struct kind *kind;

	if (size < sizeof(h))
		return mr_err(err, MR_E_PROTO, EPROTO, "an event of %zu bytes", size);
	memcpy(&h, record, sizeof(h));
	if (h.type >= N_ELEMENTS(kinds) || !kinds[h.type].read)
		return mr_err(err, MR_E_PROTO, EPROTO, "an event of the unknown type %u", h.type);
	kind = &kinds[h.type];
	if (h.size != size || size < kind->fixed || size - kind->fixed > kind->extra_max)
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "an event of type %u with %zu bytes, said %u", h.type, size, h.size);
	if (generation && h.generation != generation)
		return 1;
	memset(ret, 0, sizeof(*ret));
	ret->type = kind->type;
	ret->time_ns = h.time_ns;
	ret->pid = h.pid;
	ret->tid = h.tid;
	ret->inner_pid = h.inner_pid;
	if (kind->type == MR_EVENT_crash)
		ret->crash.modules = modules;
	if (kind->read(record, size, ret) < 0)
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "an event of type %u whose parts do not add up", h.type);
	return 0;
}
