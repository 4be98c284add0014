/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VM
 *
 * One loop for one machine.  The channel is read only while nothing of what it brought waits for
 * a slow reader, but to its end even if QEMU has ended; what goes to the guest is queued whole,
 * input a piece at a time when it has asked.  finish() is called once, by whatever ends it first;
 * then the machine goes, and what the payload wrote is passed on.
 */
#include "runtime/backend/qemu_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/errand.h"
#include "runtime/backend/qemu_flow.h"
#include "runtime/backend/qemu_restore.h"
#include "runtime/backend/qemu_setup.h"
#include "runtime/backend/qemu_tail.h"
#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

#define RESULT_MAX ((size_t)48 << 20)
#define CHUNK 16384
#define INPUT_PIECE 32768
#define MS 1000000ULL
#define OUTPUT_SLACK (1 << 20) /* the guest's supervisor sees it a little later */

struct mr_vm {
	const struct mr_vm_opts *opts;
	struct mr_vm_report *report;
	struct mr_loop *loop;
	struct mr_wire wire;
	pid_t qemu, virtiofsd; /* 0: not running */
	struct mr_source channel, console, log, files_log, qemu_end, files_end, timer, abandoned,
		signals, input;
	int channel_fd, console_fd, log_fd, files_log_fd, qmp_fd, qemu_pidfd, files_pidfd,
		timer_fd; /* owned */
	struct mr_capture log_tail, files_log_tail; /* what QEMU and virtiofsd say */
	struct mr_buf queue; /* for the guest */
	size_t queue_at;
	struct mr_flow out, err;
	uint64_t output_bytes; /* of both streams, so far */
	uint64_t begin_ns;
	uint64_t wall_at_ns; /* of the run; 0: not begun, or none */
	uint64_t kill_at_ns; /* a signal was forwarded: the end of grace; 0: none */
	bool wants_input, input_over, input_is_file, paused, channel_over, done;
};

static void finish(struct mr_vm *vm, enum mr_vm_end end)
{
	if (vm->done)
		return;
	vm->report->end = end;
	vm->done = true;
}

static void __attribute__((format(printf, 4, 5)))
fail(struct mr_vm *vm, enum mr_errc code, int errnum, const char *fmt, ...)
{
	char text[400];
	va_list args;

	if (vm->done)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	mr_err(&vm->report->error, code, errnum, "%s", text);
	finish(vm, MR_VM_FAILED);
}

static void fail_with(struct mr_vm *vm, const struct mr_error *why)
{
	fail(vm, why->code, why->errnum, "%.390s", why->msg);
}

/* Before the payload has begun, another backend may still do it. */
static enum mr_errc code_now(const struct mr_vm *vm)
{
	return vm->report->started ? MR_E_PROTO : MR_E_KERNEL;
}

static uint64_t since_begin(const struct mr_vm *vm)
{
	return mr_now_ns() - vm->begin_ns;
}

/* --- time ----------------------------------------------------------------------------- */

/* For a QEMU that has ended there is no time any more. */
static void arm(struct mr_vm *vm, uint64_t at_ns)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_timer_arm(vm->timer_fd, vm->report->has_exit ? 0 : at_ns, &err) < 0)
		fail_with(vm, &err);
}

/* That it has for what it is at. */
static uint64_t boot_limit_ns(const struct mr_vm *vm)
{
	const struct mr_vm_opts *o = vm->opts;

	return !vm->report->hello_ns && o->hello_ns > 0 && o->hello_ns < o->boot_ns ? o->hello_ns
										    : o->boot_ns;
}

static void on_late_boot(struct mr_vm *vm)
{
	vm->report->is_mute = !vm->report->hello_ns;
	fail(vm, MR_E_KERNEL, ETIMEDOUT, "timeout: the guest was not ready after %llu s%s",
	     (unsigned long long)(boot_limit_ns(vm) / (1000 * MS)),
	     vm->report->hello_ns ? "; its kernel is up" : "");
}

static void on_timer(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	if (vm->kill_at_ns && mr_now_ns() >= vm->kill_at_ns)
		finish(vm, MR_VM_KILLED);
	else if (vm->report->started)
		finish(vm, MR_VM_WALL);
	else
		on_late_boot(vm);
}

static void arm_for_run(struct mr_vm *vm)
{
	const uint64_t wall_ms = vm->opts->spec->limits_wall_ms;

	if (wall_ms != MR_UNLIMITED)
		vm->wall_at_ns = mr_now_ns() + wall_ms * MS + MR_PATIENCE_NS(QEMU_WALL_SLACK);
	arm(vm, vm->wall_at_ns);
}

/* --- to the guest --------------------------------------------------------------------- */

static void on_channel(struct mr_source *source, uint32_t events);

/* While nothing is wanted of it, it is not in the loop, which would tell of its end over and over. */
static void watch_channel(struct mr_vm *vm)
{
	struct mr_error err = MR_ERROR_INIT;
	uint32_t events =
		(vm->paused ? 0 : EPOLLIN) | (vm->queue_at < vm->queue.len ? EPOLLOUT : 0);
	int r = 0;

	if (vm->done || vm->channel_over)
		return;
	if (events == 0)
		mr_loop_remove(vm->loop, &vm->channel);
	else if (vm->channel.fd >= 0)
		r = mr_loop_modify(vm->loop, &vm->channel, events, &err);
	else
		r = mr_loop_add(vm->loop, &vm->channel, vm->channel_fd, events, on_channel, vm,
				&err);
	if (r < 0)
		fail_with(vm, &err);
}

static void queue_errand(struct mr_vm *vm)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_setup_queue(&vm->queue, vm->opts->spec, vm->opts->bin_dir, &err) < 0)
		fail_with(vm, &err);
	watch_channel(vm);
}

/* Input, if the guest has room and the last of it has left. */
static void watch_input(struct mr_vm *vm);

static void flush_queue(struct mr_vm *vm)
{
	while (vm->queue_at < vm->queue.len) {
		ssize_t n = send(vm->channel_fd, vm->queue.text + vm->queue_at,
				 vm->queue.len - vm->queue_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) /* QEMU is gone: its end says why */
			vm->input_over = true;
		vm->queue_at = n < 0 ? vm->queue.len : vm->queue_at + (size_t)n;
	}
	if (vm->queue_at == vm->queue.len) {
		mr_buf_clear(&vm->queue);
		vm->queue_at = 0;
		watch_input(vm);
	}
	watch_channel(vm);
}

static void feed(struct mr_vm *vm)
{
	unsigned char piece[INPUT_PIECE];
	ssize_t n = read(vm->opts->stdin_fd, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	vm->wants_input = false;
	if (n > 0) {
		vm->report->was_fed = true;
		mr_wire_queue(&vm->queue, MR_WIRE_INPUT, piece, (size_t)n);
	} else {
		vm->input_over = true;
		mr_wire_queue(&vm->queue, MR_WIRE_INPUT_END, NULL, 0);
	}
	mr_loop_remove(vm->loop, &vm->input);
	watch_channel(vm);
}

static void on_input(struct mr_source *source, uint32_t events)
{
	(void)events;
	feed(source->owner);
}

/* A regular file cannot be polled, and need not be. */
static void watch_input(struct mr_vm *vm)
{
	struct mr_error err = MR_ERROR_INIT;
	struct stat st;

	if (!vm->wants_input || vm->input_over || vm->queue.len > 0 || vm->input.fd >= 0)
		return;
	if (vm->opts->stdin_fd < 0 || fstat(vm->opts->stdin_fd, &st) < 0) {
		vm->input_over = true;
		mr_wire_queue(&vm->queue, MR_WIRE_INPUT_END, NULL, 0);
		watch_channel(vm);
		return;
	}
	if (S_ISREG(st.st_mode) ||
	    mr_loop_add(vm->loop, &vm->input, vm->opts->stdin_fd, EPOLLIN, on_input, vm, &err) < 0)
		feed(vm);
}

/* --- from the guest ------------------------------------------------------------------- */

/* Nothing waits any more for a slow reader, or all was passed on to it. */
static void on_flow_change(void *owner)
{
	struct mr_vm *vm = owner;

	vm->paused = mr_flow_waits(&vm->out) || mr_flow_waits(&vm->err);
	watch_channel(vm);
}

/* Who reads is not waited for any more. */
static void drop_output(struct mr_vm *vm)
{
	mr_flow_drop(&vm->out);
	mr_flow_drop(&vm->err);
	on_flow_change(vm);
}

static int put_output(struct mr_vm *vm, struct mr_flow *flow, const unsigned char *body,
		      size_t size, struct mr_error *err)
{
	const uint64_t limit = vm->opts->spec->limits_output_bytes;
	int r = mr_flow_put(flow, body, size, err);

	vm->output_bytes += size;
	if (limit != MR_UNLIMITED && vm->output_bytes > limit + OUTPUT_SLACK)
		finish(vm, MR_VM_OUTPUT);
	vm->paused |= mr_flow_waits(flow);
	watch_channel(vm);
	return r;
}

static int take_hello(struct mr_vm *vm, const unsigned char *body, size_t size,
		      struct mr_error *err)
{
	size_t n =
		size - 1 < sizeof(vm->report->release) ? size - 1 : sizeof(vm->report->release) - 1;

	if (vm->report->hello_ns)
		return mr_err(err, MR_E_PROTO, EPROTO, "HELLO twice");
	if (body[0] != MR_WIRE_VERSION)
		return mr_err(err, MR_E_PROTO, EPROTO, "protocol %u, not %d: another build's",
			      body[0], MR_WIRE_VERSION);
	memcpy(vm->report->release, body + 1, n);
	for (size_t i = 0; i < n; i++)
		if (body[1 + i] < 0x21 || body[1 + i] > 0x7e)
			vm->report->release[i] = '?';
	vm->report->hello_ns = since_begin(vm);
	arm(vm, vm->begin_ns + boot_limit_ns(vm));
	queue_errand(vm);
	return 0;
}

/* Beginning at the moment that its template was taken: after HELLO. */
static void go_on(struct mr_vm *vm)
{
	snprintf(vm->report->release, sizeof(vm->report->release), "%s",
		 vm->opts->template->release);
	vm->report->hello_ns = since_begin(vm);
	queue_errand(vm);
}

static int take_started(struct mr_vm *vm, struct mr_error *err)
{
	if (!vm->report->hello_ns || vm->report->started)
		return mr_err(err, MR_E_PROTO, EPROTO, "STARTED out of turn");
	vm->report->started = true;
	vm->report->started_ns = since_begin(vm);
	arm_for_run(vm);
	return 0;
}

static int take_result(struct mr_vm *vm, const unsigned char *body, size_t size,
		       struct mr_error *err)
{
	if (vm->report->result.len + size > RESULT_MAX)
		return mr_err(err, MR_E_PROTO, EFBIG, "a result of more than %zu bytes",
			      RESULT_MAX);
	mr_buf_addn(&vm->report->result, (const char *)body, size);
	return 0;
}

static void take_fail(struct mr_vm *vm, const unsigned char *body, size_t size)
{
	char quoted[400];
	mr_auto_free char *text = mr_str_ndup((const char *)body, size);

	mr_str_quote(quoted, sizeof(quoted), text);
	fail(vm, code_now(vm), ENOEXEC, "guest: %s", quoted);
}

static int take(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct mr_vm *vm = owner;

	if (vm->done)
		return 0;
	if (type == MR_WIRE_HELLO)
		return take_hello(vm, body, size, err);
	if (type == MR_WIRE_STARTED)
		return take_started(vm, err);
	if (type == MR_WIRE_FAIL) {
		take_fail(vm, body, size);
		return 0;
	}
	if (!vm->report->started)
		return mr_err(err, MR_E_PROTO, EPROTO, "frame %d before STARTED", type);
	switch (type) {
	case MR_WIRE_WANT:
		vm->wants_input = true;
		watch_input(vm);
		return 0;
	case MR_WIRE_OUT:
		return put_output(vm, &vm->out, body, size, err);
	case MR_WIRE_ERR:
		return put_output(vm, &vm->err, body, size, err);
	case MR_WIRE_RESULT:
		return take_result(vm, body, size, err);
	case MR_WIRE_END:
		vm->report->over_ns = since_begin(vm);
		finish(vm, MR_VM_RESULT);
		return 0;
	default:
		return mr_err(err, MR_E_BUG, EPROTO, "frame %d", type);
	}
}

static void judge_qemu_end(struct mr_vm *vm);

/* Of a QEMU that has ended nothing comes but what is there. */
static void end_channel(struct mr_vm *vm)
{
	mr_loop_remove(vm->loop, &vm->channel);
	vm->channel_over = true;
	if (vm->report->has_exit)
		judge_qemu_end(vm);
}

static void on_channel(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;
	struct mr_error err = MR_ERROR_INIT;
	unsigned char buf[CHUNK];
	ssize_t n;

	if (events & EPOLLOUT)
		flush_queue(vm);
	if (vm->paused || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(vm->channel_fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !vm->report->has_exit)))
		return;
	if (n <= 0) {
		end_channel(vm);
		return;
	}
	if (mr_wire_feed(&vm->wire, buf, (size_t)n, take, vm, &err) < 0)
		fail(vm, err.code == MR_E_PROTO ? code_now(vm) : err.code, err.errnum,
		     "garbage from the guest: %.300s", err.msg);
}

/* --- what else happens ---------------------------------------------------------------- */

static void on_console(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;

	(void)events;
	mr_tail_read(vm->loop, source, &vm->report->console);
}

static void on_log(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;

	(void)events;
	mr_tail_read(vm->loop, source, source == &vm->log ? &vm->log_tail : &vm->files_log_tail);
}

static void read_rest(struct mr_vm *vm)
{
	mr_tail_read_rest(vm->loop, &vm->console, &vm->report->console);
	mr_tail_read_rest(vm->loop, &vm->log, &vm->log_tail);
	mr_tail_read_rest(vm->loop, &vm->files_log, &vm->files_log_tail);
}

static void judge_qemu_end(struct mr_vm *vm)
{
	struct mr_vm_report *report = vm->report;
	char log[MR_TAIL_LOG];

	report->is_mute = !report->hello_ns && WIFEXITED(report->wait_status);
	read_rest(vm);
	mr_tail_line(&vm->log_tail, log, sizeof(log));
	if (mr_tail_has(&report->console, "Kernel panic"))
		fail(vm, code_now(vm), ECHILD, "the guest's kernel panicked, see diagnostics");
	else if (WIFSIGNALED(report->wait_status))
		fail(vm, code_now(vm), ECHILD, "QEMU was ended by signal %d%s%.300s",
		     WTERMSIG(report->wait_status), log[0] ? ": " : "", log);
	else
		fail(vm, code_now(vm), ECHILD, "QEMU ended with status %d%s%.300s",
		     WEXITSTATUS(report->wait_status), log[0] ? ": " : "", log);
}

/* What the guest sent before the end may not have been read yet, its result among it.  It is read to
 * its end, at the pace of whoever reads the output, which is all that takes time from here on. */
static void read_last_words(struct mr_vm *vm)
{
	arm(vm, 0);
	while (!vm->channel_over && !vm->paused && !vm->done)
		on_channel(&vm->channel, EPOLLIN);
	if (vm->paused && !vm->done)
		mr_errand_waits_for_reader(vm->opts->errand);
}

static void on_qemu_end(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;

	(void)events;
	if (!mr_wait_now(vm->qemu, &vm->report->wait_status))
		return;
	vm->qemu = 0;
	vm->report->has_exit = true;
	mr_loop_remove(vm->loop, source);
	if (vm->channel_over)
		judge_qemu_end(vm);
	else
		read_last_words(vm);
}

static void on_files_end(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;
	struct pollfd qemu = { vm->qemu_pidfd, POLLIN, 0 };
	char log[MR_TAIL_LOG];
	int status = 0;

	(void)events;
	if (!mr_wait_now(vm->virtiofsd, &status))
		return;
	vm->virtiofsd = 0;
	mr_loop_remove(vm->loop, source);
	if (vm->report->has_exit)
		return;
	/* It ends when QEMU does, which is then the reason. */
	if (mr_clock_poll(&qemu, 1, mr_now_ns() + MR_PATIENCE_NS(QEMU_LAST)) > 0) {
		on_qemu_end(&vm->qemu_end, EPOLLIN);
		return;
	}
	read_rest(vm);
	mr_tail_line(&vm->files_log_tail, log, sizeof(log));
	fail(vm, code_now(vm), ECHILD, "virtiofsd ended with status %#x%s%.300s", (unsigned)status,
	     log[0] ? ": " : "", log);
}

static void on_abandoned(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;

	(void)events;
	finish(vm, MR_VM_ABANDONED);
	vm->report->end = MR_VM_ABANDONED;
	drop_output(vm);
}

/* The guest is told, and has until the end of grace, or of its time. */
static void ask_to_end(struct mr_vm *vm)
{
	vm->kill_at_ns = mr_now_ns() + vm->opts->spec->limits_grace_ms * MS +
			 MR_PATIENCE_NS(QEMU_GRACE_SLACK);
	arm(vm,
	    vm->wall_at_ns && vm->wall_at_ns < vm->kill_at_ns ? vm->wall_at_ns : vm->kill_at_ns);
}

static void on_signal(struct mr_source *source, uint32_t events)
{
	struct mr_vm *vm = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		const unsigned char sig = (unsigned char)info.ssi_signo;
		const bool harmless = sig == SIGUSR1 || sig == SIGUSR2;

		/* The caller's reader may be what holds us. */
		if (vm->done || vm->report->has_exit) {
			if (!harmless)
				drop_output(vm);
			continue;
		}
		if (!harmless && !vm->report->user_signal)
			vm->report->user_signal = sig;
		if (!harmless && (vm->kill_at_ns || !vm->report->started)) {
			finish(vm, MR_VM_KILLED);
			return;
		}
		if (!vm->report->started)
			continue;
		mr_wire_queue(&vm->queue, MR_WIRE_SIGNAL, &sig, 1);
		watch_channel(vm);
		if (!harmless)
			ask_to_end(vm);
	}
}

/* --- making it, and the end ------------------------------------------------------------ */

static int watch(struct mr_vm *vm, struct mr_source *source, int fd, uint32_t events,
		 void (*on_event)(struct mr_source *, uint32_t), struct mr_error *err)
{
	return mr_loop_add(vm->loop, source, fd, events, on_event, vm, err);
}

static int make_pair(int *ret_ours, int *ret_its, struct mr_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "make a channel to the machine: socketpair: %m");
	*ret_ours = pair[0];
	*ret_its = pair[1];
	return 0;
}

static int make_log(int *ret_ours, int *ret_its, struct mr_error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the pipe of the machine's messages: %m");
	*ret_ours = pair[0];
	*ret_its = pair[1];
	return 0;
}

static int start_programs(struct mr_vm *vm, struct mr_machine_opts *machine, struct mr_error *err)
{
	mr_auto_close int log = -1, files_log = -1, console = -1, channel = -1, qmp = -1;
	mr_auto_close int files = -1;
	int r = make_log(&vm->log_fd, &log, err);

	if (r == 0)
		r = make_log(&vm->files_log_fd, &files_log, err);
	if (r == 0)
		r = make_pair(&vm->console_fd, &console, err);
	if (r == 0)
		r = make_pair(&vm->channel_fd, &channel, err);
	if (r == 0)
		r = make_pair(&vm->qmp_fd, &qmp, err);
	if (r == 0)
		r = mr_share_start_virtiofs(vm->opts->share, vm->opts->group, files_log, &files,
					    &vm->virtiofsd, err);
	if (r < 0)
		return r;
	machine->console_fd = console;
	machine->channel_fd = channel;
	machine->qmp_fd = qmp;
	machine->files_fd = files;
	machine->log_fd = log;
	machine->group = vm->opts->group;
	return mr_machine_start(machine, &vm->qemu, err);
}

static int watch_programs(struct mr_vm *vm, struct mr_error *err)
{
	int r;

	vm->qemu_pidfd = mr_pidfd_open(vm->qemu, 0);
	vm->files_pidfd = mr_pidfd_open(vm->virtiofsd, 0);
	if (vm->qemu_pidfd < 0 || vm->files_pidfd < 0)
		return mr_err(err, MR_E_SYS, errno, "pidfd: %m");
	r = watch(vm, &vm->qemu_end, vm->qemu_pidfd, EPOLLIN, on_qemu_end, err);
	if (r == 0)
		r = watch(vm, &vm->files_end, vm->files_pidfd, EPOLLIN, on_files_end, err);
	if (r == 0)
		r = watch(vm, &vm->channel, vm->channel_fd, EPOLLIN, on_channel, err);
	if (r == 0)
		r = watch(vm, &vm->console, vm->console_fd, EPOLLIN, on_console, err);
	if (r == 0)
		r = watch(vm, &vm->log, vm->log_fd, EPOLLIN, on_log, err);
	if (r == 0)
		r = watch(vm, &vm->files_log, vm->files_log_fd, EPOLLIN, on_log, err);
	return r;
}

static int watch_caller(struct mr_vm *vm, struct mr_error *err)
{
	int r = watch(vm, &vm->abandoned, vm->opts->errand->report_fd, 0, on_abandoned, err);

	if (r == 0 && vm->opts->signals_fd >= 0)
		r = watch(vm, &vm->signals, vm->opts->signals_fd, EPOLLIN, on_signal, err);
	return r;
}

/* Its memory is copied while QEMU starts, which needs none of it yet. */
static int restore(struct mr_vm *vm, struct mr_error *err)
{
	int r = mr_template_fill(vm->opts->template, err);

	vm->report->is_template_bad = r < 0;
	return r < 0 ? r : mr_restore(vm->qmp_fd, vm->begin_ns + vm->opts->boot_ns, err);
}

static int start(struct mr_vm *vm, struct mr_error *err)
{
	const struct mr_vm_opts *o = vm->opts;
	struct mr_machine_opts machine = {
		.accel = o->accel,
		.memory_mib = o->memory_mib,
		.cpus = o->cpus,
		.tsc_khz = o->tsc_khz,
		.probes = (enum mr_telemetry_level)o->spec->telemetry_level,
		.kernel_fd = o->kernel_fd,
		.initramfs_fd = o->initramfs_fd,
		.memory_fd = o->template ? o->template->memory_fd : -1,
		.state_fd = o->template ? o->template->state_fd : -1
	};
	int r = mr_loop_new(&vm->loop, err);

	if (r == 0)
		r = vm->timer_fd = mr_timer_open(err);
	if (r >= 0)
		r = watch(vm, &vm->timer, vm->timer_fd, EPOLLIN, on_timer, err);
	if (r == 0)
		r = mr_flow_open(&vm->out, vm->loop, o->spec, o->stdout_fd, on_flow_change, vm,
				 err);
	if (r == 0)
		r = mr_flow_open(&vm->err, vm->loop, o->spec, o->stderr_fd, on_flow_change, vm,
				 err);
	if (r == 0)
		r = watch_caller(vm, err);
	if (r == 0)
		r = start_programs(vm, &machine, err);
	if (r == 0)
		r = watch_programs(vm, err);
	if (r == 0 && o->template)
		r = restore(vm, err);
	if (r < 0)
		return r;
	arm(vm, vm->begin_ns + boot_limit_ns(vm));
	if (o->template)
		go_on(vm);
	return 0;
}

static void end_program(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	mr_wait(*pid);
	*pid = 0;
}

/* Whatever ended it; of the loop only who may want no more output is left. */
static void end_machine(struct mr_vm *vm)
{
	struct mr_source *const its[] = { &vm->channel,	 &vm->console,	 &vm->log,   &vm->files_log,
					  &vm->qemu_end, &vm->files_end, &vm->timer, &vm->input };

	end_program(&vm->qemu);
	end_program(&vm->virtiofsd);
	read_rest(vm);
	for (size_t i = 0; i < N_ELEMENTS(its); i++)
		mr_loop_remove(vm->loop, its[i]);
}

static void stop(struct mr_vm *vm)
{
	const bool out_lost = mr_flow_stop(&vm->out, &vm->report->out);
	const bool err_lost = mr_flow_stop(&vm->err, &vm->report->err);

	vm->report->output_lost = out_lost || err_lost;
	mr_capture_deinit(&vm->log_tail);
	mr_capture_deinit(&vm->files_log_tail);
	mr_buf_deinit(&vm->queue);
	vm->loop = mr_loop_free(vm->loop);
	mr_close(vm->channel_fd);
	mr_close(vm->console_fd);
	mr_close(vm->log_fd);
	mr_close(vm->files_log_fd);
	mr_close(vm->qmp_fd);
	mr_close(vm->qemu_pidfd);
	mr_close(vm->files_pidfd);
	mr_close(vm->timer_fd);
}

static struct mr_vm *make(const struct mr_vm_opts *opts, struct mr_vm_report *report)
{
	struct mr_vm *vm = mr_str_alloc(sizeof(*vm));
	struct mr_source *const sources[] = { &vm->channel,   &vm->console,   &vm->log,
					      &vm->files_log, &vm->qemu_end,  &vm->files_end,
					      &vm->timer,     &vm->abandoned, &vm->signals,
					      &vm->input };

	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		sources[i]->fd = -1;
	vm->channel_fd = vm->console_fd = vm->log_fd = vm->files_log_fd = vm->qmp_fd = -1;
	vm->qemu_pidfd = vm->files_pidfd = vm->timer_fd = -1;
	vm->opts = opts;
	vm->report = report;
	*report = (struct mr_vm_report){ .end = MR_VM_FAILED };
	vm->begin_ns = mr_now_ns();
	mr_wire_init(&vm->wire, MR_WIRE_GUEST);
	mr_capture_init(&vm->log_tail, 0, MR_TAIL_LOG);
	mr_capture_init(&vm->files_log_tail, 0, MR_TAIL_LOG);
	mr_capture_init(&report->console, 0, MR_VM_CONSOLE_TAIL);
	return vm;
}

void mr_vm_run(const struct mr_vm_opts *opts, struct mr_vm_report *ret)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_vm *vm = make(opts, ret);
	int r = start(vm, &err);

	while (r >= 0 && !vm->done)
		r = mr_loop_run_once(vm->loop, -1, &err);
	if (r < 0)
		fail_with(vm, &err);
	end_machine(vm);
	if (ret->end != MR_VM_ABANDONED)
		mr_flow_drain(&vm->out, &vm->err, opts->errand);
	stop(vm);
	free(vm);
}

void mr_vm_report_deinit(struct mr_vm_report *report)
{
	mr_buf_deinit(&report->result);
	mr_capture_deinit(&report->out);
	mr_capture_deinit(&report->err);
	mr_capture_deinit(&report->console);
}
