/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trail
 *
 * Rows in the order they came.  An event finds its process by pid, newest first: a
 * pid that is used again begins a new row at its fork.  The kernel hands events of
 * different CPUs over in an order that is almost that of time; the lists are sorted,
 * so that no end comes before its beginning.
 */
#include "runtime/supervise/trail.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/telemetry.h"

#define HEADS 256
#define CODE_SECCOMP 1 /* SYS_SECCOMP, which not every libc has */

struct process {
	uint64_t start_ns, parent_start_ns, exit_ns;
	uint32_t pid, inner_pid, parent_pid;
	uint32_t execs, wait_status;
	uint64_t rss_max_bytes;
	int oom_victim;
	char comm[17];
	char parent_comm[17]; /* of who made it, at that moment; known if parent_pid is */
	size_t exec; /* place of its last exec among the events; SIZE_MAX: none is kept */
	size_t older; /* row of the same head before it; SIZE_MAX: none */
};

struct kept {
	struct mr_event event; /* its exe, argv and path point to what we own */
	uint64_t start_ns; /* of its process; 0: not known */
};

struct mr_trail {
	struct process *processes;
	struct kept *events;
	struct kept *last; /* a ring, from the first event on that had no room above */
	size_t n_processes, processes_cap, n_events, events_cap, text_bytes;
	uint64_t n_last; /* that ever were in the ring; the newest is before [n_last % MAX] */
	bool keeps_last, seccomp_kill;
	uint64_t processes_left_out, events_left_out;
	size_t heads[HEADS];
};

struct mr_trail *mr_trail_new(void)
{
	struct mr_trail *trail = mr_str_alloc(sizeof(*trail));

	for (size_t i = 0; i < HEADS; i++)
		trail->heads[i] = SIZE_MAX;
	return trail;
}

static void free_text(struct kept *kept)
{
	struct mr_event *e = &kept->event;

	if (e->type == MR_EVENT_exec) {
		free((char *)(uintptr_t)e->exec.exe);
		free((char *)(uintptr_t)e->exec.argv);
		free((char *)(uintptr_t)e->exec.file.names);
		free((char *)(uintptr_t)e->exec.cwd.names);
	} else if (e->type == MR_EVENT_crash) {
		free(e->crash.modules);
	} else if (e->type == MR_EVENT_open) {
		free((char *)(uintptr_t)e->open.path);
	}
}

static size_t last_held(const struct mr_trail *trail)
{
	return trail->n_last < MR_TRAIL_LAST_MAX ? (size_t)trail->n_last : MR_TRAIL_LAST_MAX;
}

struct mr_trail *mr_trail_free(struct mr_trail *trail)
{
	if (!trail)
		return NULL;
	for (size_t i = 0; i < trail->n_events; i++)
		free_text(&trail->events[i]);
	for (size_t i = 0; i < last_held(trail); i++)
		free_text(&trail->last[i]);
	free(trail->processes);
	free(trail->events);
	free(trail->last);
	free(trail);
	return NULL;
}

static struct process *find_process(const struct mr_trail *trail, uint32_t pid)
{
	for (size_t i = trail->heads[pid % HEADS]; i != SIZE_MAX; i = trail->processes[i].older)
		if (trail->processes[i].pid == pid)
			return &trail->processes[i];
	return NULL;
}

static struct process *add_process(struct mr_trail *trail, uint32_t pid, uint64_t start_ns)
{
	struct process *p;

	if (trail->n_processes == MR_TRAIL_PROCESSES_MAX) {
		trail->processes_left_out++;
		return NULL;
	}
	trail->processes = mr_str_grow(trail->processes, trail->n_processes, &trail->processes_cap,
				       sizeof(*p));
	p = &trail->processes[trail->n_processes];
	*p = (struct process){ .pid = pid,
			       .start_ns = start_ns,
			       .exec = SIZE_MAX,
			       .older = trail->heads[pid % HEADS] };
	trail->heads[pid % HEADS] = trail->n_processes++;
	return p;
}

/* The row of a process that its event may be the first we hear of: the fork may be lost. */
static struct process *meet(struct mr_trail *trail, uint32_t pid, uint64_t start_ns)
{
	for (size_t i = trail->heads[pid % HEADS]; i != SIZE_MAX; i = trail->processes[i].older)
		if (trail->processes[i].pid == pid && trail->processes[i].start_ns == start_ns)
			return &trail->processes[i];
	return add_process(trail, pid, start_ns);
}

static void take_fork(struct mr_trail *trail, const struct mr_event *e)
{
	const struct process *parent = find_process(trail, e->pid);
	uint64_t parent_start = parent ? parent->start_ns : 0;
	struct process *p = meet(trail, e->fork.child_pid, e->fork.start_ns);

	if (!p)
		return;
	p->parent_pid = e->pid;
	p->parent_start_ns = parent_start;
	p->inner_pid = e->fork.child_inner_pid;
	memcpy(p->parent_comm, e->comm, sizeof(p->parent_comm));
	if (!p->execs && !p->exit_ns)
		memcpy(p->comm, e->comm, sizeof(p->comm));
}

/* Its place, empty: in the list, or in the ring of the last ones. */
static struct kept *add_kept(struct mr_trail *trail, size_t text)
{
	struct kept *kept;

	if (trail->n_events < MR_TRAIL_EVENTS_MAX &&
	    trail->text_bytes + text <= MR_TRAIL_TEXT_MAX) {
		trail->text_bytes += text;
		trail->events = mr_str_grow(trail->events, trail->n_events, &trail->events_cap,
					    sizeof(*trail->events));
		return &trail->events[trail->n_events++];
	}
	if (!trail->last)
		trail->last = mr_str_alloc(MR_TRAIL_LAST_MAX * sizeof(*trail->last));
	kept = &trail->last[trail->n_last++ % MR_TRAIL_LAST_MAX];
	if (trail->n_last > MR_TRAIL_LAST_MAX) {
		free_text(kept);
		trail->events_left_out++;
	}
	return kept;
}

static char *copy(const void *bytes, size_t size)
{
	char *ret = mr_str_alloc(size + 1);

	if (size)
		memcpy(ret, bytes, size);
	return ret;
}

/* With copies of what it borrows.  Its place in the list; SIZE_MAX: in the ring. */
static size_t keep_event(struct mr_trail *trail, const struct mr_event *e, uint64_t start_ns)
{
	const struct process *p = start_ns ? NULL : find_process(trail, e->pid);
	size_t modules = 0, text = 0, before = trail->n_events;
	struct kept *kept;

	if (e->type == MR_EVENT_exec)
		text = strlen(e->exec.exe) + 2 + e->exec.argv_kept + e->exec.file.bytes +
		       e->exec.cwd.bytes;
	else if (e->type == MR_EVENT_crash)
		text = modules = e->crash.n_modules * sizeof(*e->crash.modules);
	else if (e->type == MR_EVENT_open)
		text = strlen(e->open.path) + 1;
	kept = add_kept(trail, text);
	*kept = (struct kept){ .event = *e, .start_ns = p ? p->start_ns : start_ns };
	if (e->type == MR_EVENT_exec) {
		kept->event.exec.exe = mr_str_dup(e->exec.exe);
		kept->event.exec.argv = copy(e->exec.argv, e->exec.argv_kept);
		kept->event.exec.file.names = copy(e->exec.file.names, e->exec.file.bytes);
		kept->event.exec.cwd.names = copy(e->exec.cwd.names, e->exec.cwd.bytes);
	} else if (e->type == MR_EVENT_crash) {
		kept->event.crash.modules = (void *)copy(e->crash.modules, modules);
	} else if (e->type == MR_EVENT_open) {
		kept->event.open.path = mr_str_dup(e->open.path);
	}
	return trail->n_events > before ? before : SIZE_MAX;
}

static void take_exec(struct mr_trail *trail, const struct mr_event *e)
{
	struct process *p = meet(trail, e->pid, e->exec.start_ns);
	size_t at = keep_event(trail, e, e->exec.start_ns);

	if (!p)
		return;
	p->execs++;
	p->inner_pid = e->inner_pid;
	memcpy(p->comm, e->comm, sizeof(p->comm));
	p->exec = at;
}

static void take_exit(struct mr_trail *trail, const struct mr_event *e)
{
	struct process *p = meet(trail, e->pid, e->exit.start_ns);

	if (!p)
		return;
	p->exit_ns = e->time_ns;
	p->wait_status = e->exit.wait_status;
	p->rss_max_bytes = e->exit.rss_max_bytes;
	p->oom_victim = e->exit.oom_victim;
	if (!p->inner_pid)
		p->inner_pid = e->inner_pid;
	memcpy(p->comm, e->comm, sizeof(p->comm));
}

void mr_trail_add(struct mr_trail *trail, const struct mr_event *e)
{
	switch (e->type) {
	case MR_EVENT_fork:
		take_fork(trail, e);
		break;
	case MR_EVENT_exec:
		take_exec(trail, e);
		break;
	case MR_EVENT_exit:
		take_exit(trail, e);
		break;
	case MR_EVENT_crash:
		trail->seccomp_kill |= e->crash.signal == SIGSYS && e->crash.code == CODE_SECCOMP;
		keep_event(trail, e, 0);
		break;
	case MR_EVENT_socket:
	case MR_EVENT_connect:
	case MR_EVENT_bind:
	case MR_EVENT_sendmsg:
	case MR_EVENT_attempt:
	case MR_EVENT_open:
		keep_event(trail, e, 0);
		break;
	case MR_EVENT_dns: /* what goes to the network is kept by the net trail */
	case MR_EVENT_tcp:
	case MR_EVENT_COUNT_:
		break;
	}
}

bool mr_trail_has_seccomp_kill(const struct mr_trail *trail)
{
	return trail->seccomp_kill;
}

uint64_t mr_trail_start_of(const struct mr_trail *trail, uint32_t pid)
{
	const struct process *p = find_process(trail, pid);

	return p ? p->start_ns : 0;
}

uint64_t mr_trail_processes_left_out(const struct mr_trail *trail)
{
	return trail->processes_left_out;
}

uint64_t mr_trail_events_left_out(const struct mr_trail *trail)
{
	return trail->events_left_out + (trail->keeps_last ? 0 : last_held(trail));
}

void mr_trail_keep_last(struct mr_trail *trail)
{
	trail->keeps_last = true;
}

size_t mr_trail_last_kept(const struct mr_trail *trail)
{
	return trail->keeps_last ? last_held(trail) : 0;
}

/* --- JSON ------------------------------------------------------------------------------- */

static json_t *number_or_null(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

/* Bytes as people read them; where they are no text, as \\xNN. */
static json_t *plain_text(const char *text, size_t size)
{
	mr_auto_json json_t *holder = json_object();

	mr_text_set(holder, "text", text, size);
	return json_incref(json_object_get(holder, "text"));
}

/* Each argument up to its NUL; what the end of the kept bytes cuts comes as far as it goes. */
static json_t *argv_json(const struct mr_event *e)
{
	const char *at = e->exec.argv, *end = at + e->exec.argv_kept;
	json_t *argv = json_array();

	if (e->exec.argv_unreadable) {
		json_decref(argv);
		return json_null();
	}
	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		json_array_append_new(argv, plain_text(at, len));
		at += len + 1;
	}
	return argv;
}

static void set_end(json_t *row, const struct process *p)
{
	bool ended = p->exit_ns != 0;
	int status = (int)p->wait_status;

	json_object_set_new(row, "exit_boot_ns", number_or_null(p->exit_ns));
	json_object_set_new(row, "exit_code",
			    ended && WIFEXITED(status) ? json_integer(WEXITSTATUS(status))
						       : json_null());
	json_object_set_new(row, "exit_signal",
			    ended && WIFSIGNALED(status) ? json_integer(WTERMSIG(status))
							 : json_null());
	json_object_set_new(row, "core_dumped",
			    ended ? json_integer(WCOREDUMP(status) ? 1 : 0) : json_null());
	json_object_set_new(row, "oom_victim", ended ? json_boolean(p->oom_victim) : json_null());
	json_object_set_new(row, "rss_peak_bytes", number_or_null(p->rss_max_bytes));
}

static json_t *parent_comm_json(const struct process *p)
{
	return p->parent_pid ? plain_text(p->parent_comm, strlen(p->parent_comm)) : json_null();
}

static json_t *process_json(const struct mr_trail *trail, const struct process *p)
{
	const struct mr_event *exec = p->exec == SIZE_MAX ? NULL : &trail->events[p->exec].event;
	json_t *row =
		json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}",
			  "tgid", (json_int_t)p->pid, "start_boot_ns", (json_int_t)p->start_ns,
			  "inner_pid", number_or_null(p->inner_pid), "parent_tgid",
			  number_or_null(p->parent_pid), "parent_start_boot_ns",
			  number_or_null(p->parent_start_ns), "parent_comm", parent_comm_json(p),
			  "comm", plain_text(p->comm, strlen(p->comm)), "exe",
			  exec ? plain_text(exec->exec.exe, strlen(exec->exec.exe)) : json_null(),
			  "argv", exec ? argv_json(exec) : json_null(), "argv_bytes",
			  exec ? json_integer((json_int_t)exec->exec.argv_bytes) : json_null(),
			  "argv_truncated",
			  exec ? json_integer(exec->exec.argv_truncated) : json_null(), "fileless",
			  exec ? json_integer(exec->exec.fileless) : json_null(), "execs",
			  (json_int_t)p->execs);

	set_end(row, p);
	return row;
}

static int by_start(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a;
	const struct process *y = *(const struct process *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

json_t *mr_trail_processes(const struct mr_trail *trail)
{
	const struct process **order = mr_str_alloc((trail->n_processes + 1) * sizeof(void *));
	json_t *list = json_array();

	for (size_t i = 0; i < trail->n_processes; i++)
		order[i] = &trail->processes[i];
	qsort(order, trail->n_processes, sizeof(void *), by_start);
	for (size_t i = 0; i < trail->n_processes; i++)
		json_array_append_new(list, process_json(trail, order[i]));
	free(order);
	return list;
}

static json_t *place_json(const struct mr_event_place *place)
{
	mr_auto_free char *path = NULL;

	if (!place->bytes)
		return json_null();
	path = mr_str_alloc(place->bytes + 1);
	mr_event_path(place->names, place->bytes, path);
	return plain_text(path, strlen(path));
}

static json_t *exec_detail(const struct mr_event *e)
{
	return json_pack("{s:o, s:b, s:o, s:b, s:o, s:I, s:I, s:b, s:b, s:b, s:b, s:b, s:I, s:I, "
			 "s:I}",
			 "file", place_json(&e->exec.file), "file_truncated", e->exec.file.is_cut,
			 "cwd", place_json(&e->exec.cwd), "cwd_truncated", e->exec.cwd.is_cut,
			 "argv", argv_json(e), "argc", (json_int_t)e->exec.argc, "argv_bytes",
			 (json_int_t)e->exec.argv_bytes, "argv_truncated", e->exec.argv_truncated,
			 "argv_unreadable", e->exec.argv_unreadable, "exe_truncated",
			 e->exec.exe_truncated, "fileless", e->exec.fileless, "from_thread",
			 e->exec.from_thread, "parent_tgid", (json_int_t)e->exec.parent_pid,
			 "inode", (json_int_t)e->exec.inode, "device", (json_int_t)e->exec.device);
}

static json_t *hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *module_json(const struct mr_event_module *m)
{
	bool has_path = m->path[0] != '\0';

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "start", hex(m->start), "end",
			 hex(m->end), "offset", hex(m->offset), "device",
			 m->inode ? json_integer((json_int_t)m->device) : json_null(), "inode",
			 number_or_null(m->inode), "path",
			 has_path ? plain_text(m->path, strlen(m->path)) : json_null(),
			 "path_truncated", m->is_cut, "nameless", m->is_nameless);
}

static json_t *crash_detail(const struct mr_event *e)
{
	json_t *frames = json_array(), *modules = json_array();

	for (size_t i = 0; i < e->crash.n_frames; i++)
		json_array_append_new(frames, hex(e->crash.frames[i]));
	for (size_t i = 0; i < e->crash.n_modules; i++)
		json_array_append_new(modules, module_json(&e->crash.modules[i]));
	return json_pack("{s:i, s:i, s:o, s:o, s:o}", "signal", e->crash.signal, "si_code",
			 e->crash.code, "address", hex(e->crash.address), "frames", frames,
			 "modules", modules);
}

static json_t *net_detail(const struct mr_event *e)
{
	return json_pack("{s:I, s:I, s:I}", "family", (json_int_t)e->net.family, "kind",
			 (json_int_t)e->net.kind, "protocol", (json_int_t)e->net.protocol);
}

/* "127.0.0.1:80", "[::1]:80". */
static json_t *address_json(const struct mr_event *e)
{
	char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];

	if (e->type == MR_EVENT_socket ||
	    !inet_ntop((int)e->net.family, e->net.address, ip, sizeof(ip)))
		return json_null();
	snprintf(text, sizeof(text), e->net.family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip,
		 e->net.port);
	return json_string(text);
}

static json_t *attempt_detail(const struct mr_event *e)
{
	return json_pack("{s:I, s:[o, o, o]}", "nr", (json_int_t)e->attempt.nr, "args",
			 hex(e->attempt.args[0]), hex(e->attempt.args[1]), hex(e->attempt.args[2]));
}

static json_t *open_detail(const struct mr_event *e)
{
	return json_pack("{s:b, s:b, s:I, s:I}", "to_write", e->open.to_write, "secret",
			 e->open.secret, "inode", (json_int_t)e->open.inode, "device",
			 (json_int_t)e->open.device);
}

static json_t *event_json(const struct kept *kept)
{
	const struct mr_event *e = &kept->event;
	json_t *object, *detail;

	if (e->type == MR_EVENT_attempt) {
		object = mr_syscall_json(e->attempt.nr);
		detail = attempt_detail(e);
	} else if (e->type == MR_EVENT_open) {
		object = e->open.path[0] ? plain_text(e->open.path, strlen(e->open.path))
					 : json_null();
		detail = open_detail(e);
	} else if (e->type == MR_EVENT_exec) {
		object = plain_text(e->exec.exe, strlen(e->exec.exe));
		detail = exec_detail(e);
	} else if (e->type == MR_EVENT_crash) {
		const char *name = sigabbrev_np(e->crash.signal);

		object = name ? json_string(name) : json_null();
		detail = crash_detail(e);
	} else {
		object = address_json(e);
		detail = net_detail(e);
	}
	json_object_set_new(detail, "inner_pid", number_or_null(e->inner_pid));
	return json_pack("{s:I, s:s, s:I, s:o, s:I, s:o, s:o, s:o}", "boot_ns",
			 (json_int_t)e->time_ns, "type", mr_event_name(e->type), "tgid",
			 (json_int_t)e->pid, "start_boot_ns", number_or_null(kept->start_ns), "tid",
			 (json_int_t)e->tid, "comm", plain_text(e->comm, strlen(e->comm)), "object",
			 object, "detail", detail);
}

static int by_time(const void *a, const void *b)
{
	const struct kept *x = *(const struct kept *const *)a, *y = *(const struct kept *const *)b;

	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x < y ? -1 : 1;
}

static size_t list_kept(const struct mr_trail *trail, const struct kept **ret)
{
	size_t n = mr_trail_last_kept(trail), all = trail->n_events + n;

	for (size_t i = 0; i < all; i++)
		ret[i] =
			i < trail->n_events ? &trail->events[i] : &trail->last[i - trail->n_events];
	qsort(ret, all, sizeof(void *), by_time);
	return all;
}

json_t *mr_trail_events(const struct mr_trail *trail)
{
	const struct kept **order =
		mr_str_alloc((trail->n_events + MR_TRAIL_LAST_MAX) * sizeof(void *));
	size_t n = list_kept(trail, order);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, event_json(order[i]));
	free(order);
	return list;
}

/* --- rows for followers -------------------------------------------------------------------- */

struct row {
	uint64_t time_ns;
	int rank; /* of rows of one moment */
	json_t *json;
};

enum { RANK_FORK, RANK_EVENT, RANK_OOM, RANK_EXIT };

static json_t *life_json(const char *type, uint64_t time_ns, uint32_t pid, uint64_t start_ns,
			 json_t *comm, json_t *detail)
{
	return json_pack("{s:I, s:s, s:o, s:o, s:o, s:n, s:o}", "boot_ns", (json_int_t)time_ns,
			 "type", type, "tgid", number_or_null(pid), "start_boot_ns",
			 number_or_null(start_ns), "comm", comm, "object", "detail", detail);
}

static json_t *fork_json(const struct process *p)
{
	return life_json("fork", p->start_ns, p->parent_pid, p->parent_start_ns,
			 parent_comm_json(p),
			 json_pack("{s:I, s:o}", "child_tgid", (json_int_t)p->pid,
				   "child_inner_pid", number_or_null(p->inner_pid)));
}

static json_t *exit_json(const struct process *p)
{
	json_t *detail = json_object();

	set_end(detail, p);
	json_object_del(detail, "exit_boot_ns");
	json_object_del(detail, "oom_victim");
	return life_json("exit", p->exit_ns, p->pid, p->start_ns,
			 plain_text(p->comm, strlen(p->comm)), detail);
}

static json_t *oom_json(const struct process *p)
{
	return life_json("oom", p->exit_ns, p->pid, p->start_ns,
			 plain_text(p->comm, strlen(p->comm)),
			 json_pack("{s:o}", "rss_peak_bytes", number_or_null(p->rss_max_bytes)));
}

/* The process as its end alone tells it: there may be no room for its row. */
static struct process ended_process(const struct mr_event *e)
{
	struct process p = { .pid = e->pid,
			     .start_ns = e->exit.start_ns,
			     .exit_ns = e->time_ns,
			     .wait_status = e->exit.wait_status,
			     .rss_max_bytes = e->exit.rss_max_bytes,
			     .oom_victim = e->exit.oom_victim };

	memcpy(p.comm, e->comm, sizeof(p.comm));
	return p;
}

static struct process made_process(const struct mr_trail *trail, const struct mr_event *e)
{
	const struct process *parent = find_process(trail, e->pid);
	struct process p = { .pid = e->fork.child_pid,
			     .inner_pid = e->fork.child_inner_pid,
			     .start_ns = e->fork.start_ns,
			     .parent_pid = e->pid,
			     .parent_start_ns = parent ? parent->start_ns : 0 };

	memcpy(p.parent_comm, e->comm, sizeof(p.parent_comm));
	return p;
}

void mr_trail_show(const struct mr_trail *trail, const struct mr_event *e, mr_trail_fn *fn,
		   void *owner)
{
	const struct process *p = find_process(trail, e->pid);
	const struct kept kept = { .event = *e, .start_ns = p ? p->start_ns : 0 };
	struct process life;

	if (e->type == MR_EVENT_fork) {
		life = made_process(trail, e);
		fn(owner, fork_json(&life));
	} else if (e->type == MR_EVENT_exit) {
		life = ended_process(e);
		if (life.oom_victim)
			fn(owner, oom_json(&life));
		fn(owner, exit_json(&life));
	} else {
		fn(owner, event_json(&kept));
	}
}

static int by_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static size_t list_rows(const struct mr_trail *trail, struct row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < trail->n_events; i++)
		rows[n++] = (struct row){ trail->events[i].event.time_ns, RANK_EVENT,
					  event_json(&trail->events[i]) };
	for (size_t i = 0; i < trail->n_processes; i++) {
		const struct process *p = &trail->processes[i];

		if (p->parent_pid)
			rows[n++] = (struct row){ p->start_ns, RANK_FORK, fork_json(p) };
		if (p->exit_ns && p->oom_victim)
			rows[n++] = (struct row){ p->exit_ns, RANK_OOM, oom_json(p) };
		if (p->exit_ns)
			rows[n++] = (struct row){ p->exit_ns, RANK_EXIT, exit_json(p) };
	}
	return n;
}

void mr_trail_replay(const struct mr_trail *trail, mr_trail_fn *fn, void *owner)
{
	struct row *rows =
		mr_str_alloc((trail->n_events + 3 * trail->n_processes + 1) * sizeof(*rows));
	size_t n = list_rows(trail, rows);

	qsort(rows, n, sizeof(*rows), by_row);
	for (size_t i = 0; i < n; i++)
		fn(owner, rows[i].json);
	free(rows);
}
