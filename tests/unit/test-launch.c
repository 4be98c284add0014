/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch: what is computed before the clone, and the protocol after it
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

static const char *lookup(char **env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; env[i]; i++) {
		if (strncmp(env[i], name, len) == 0 && env[i][len] == '=')
			return env[i] + len + 1;
	}
	return NULL;
}

static void free_env(char **env)
{
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}

static void nothing_of_the_callers_environment_passes(void **state)
{
	struct mr_spec spec;
	char **env;

	(void)state;
	assert_int_equal(setenv("LD_PRELOAD", "/evil.so", 1), 0);
	assert_int_equal(setenv("TERM", "vt220", 1), 0);
	mr_spec_init(&spec);
	env = mr_env_build(&spec);
	assert_null(lookup(env, "LD_PRELOAD"));
	assert_null(lookup(env, "TERM"));
	assert_string_equal(lookup(env, "HOME"), "/work");
	assert_string_equal(lookup(env, "TMPDIR"), "/tmp");
	free_env(env);
	mr_spec_deinit(&spec);
	unsetenv("LD_PRELOAD");
}

static void later_sources_of_a_variable_win(void **state)
{
	struct mr_error err;
	struct mr_spec spec;
	char **env;

	(void)state;
	assert_int_equal(setenv("PASSED", "host", 1), 0);
	mr_spec_init(&spec);
	mr_strv_add(&spec.env_pass, "PASSED");
	mr_strv_add(&spec.env_pass, "NOT_SET_ANYWHERE");
	assert_int_equal(mr_spec_add_env(&spec, "HOME=/tmp", &err), 0);
	assert_int_equal(mr_spec_add_env(&spec, "HOMELY=", &err), 0);
	env = mr_env_build(&spec);
	assert_string_equal(lookup(env, "PASSED"), "host");
	assert_null(lookup(env, "NOT_SET_ANYWHERE"));
	assert_string_equal(lookup(env, "HOME"), "/tmp");
	assert_string_equal(lookup(env, "HOMELY"), "");
	free_env(env);
	mr_spec_deinit(&spec);
}

static void set_code(struct mr_spec *spec, const char *code)
{
	spec->snippet_code = strdup(code);
	spec->snippet_code_size = strlen(code);
}

static void a_snippet_runs_by_language(void **state)
{
	struct mr_spec spec;
	struct mr_child c = { .spec = &spec };
	struct mr_error err;

	(void)state;
	mr_spec_init(&spec);
	set_code(&spec, "#!/bin/sh\nprint(1)");
	spec.lang = strdup("python");
	mr_strv_add(&spec.argv, "-x");
	assert_int_equal(mr_program_resolve(&c, &err), 0);
	assert_string_equal(c.argv[0], "python3");
	assert_string_equal(c.argv[1], "/run/snippet/snippet.py");
	assert_string_equal(c.argv[2], "-x");
	assert_null(c.argv[3]);
	mr_program_release(&c);
	mr_spec_deinit(&spec);
}

static void a_snippet_with_a_shebang_runs_as_it_is(void **state)
{
	struct mr_spec spec;
	struct mr_child c = { .spec = &spec };
	struct mr_error err;

	(void)state;
	mr_spec_init(&spec);
	set_code(&spec, "#!/bin/sh\n");
	assert_int_equal(mr_program_resolve(&c, &err), 0);
	assert_string_equal(c.argv[0], "/run/snippet/snippet");
	assert_null(c.argv[1]);
	mr_program_release(&c);
	mr_spec_deinit(&spec);
}

static void exec_tells_missing_from_not_executable(void **state)
{
	char *missing[] = { (char[]){ "no-such-program-here" }, NULL };
	char *dir[] = { (char[]){ "/tmp" }, NULL };
	char *under_file[] = { (char[]){ "/etc/passwd/x" }, NULL };
	char *empty[] = { (char[]){ "" }, NULL };
	char *env[] = { (char[]){ "PATH=/nowhere:/usr/bin" }, NULL };
	struct mr_error err;

	(void)state;
	assert_int_equal(mr_program_exec(missing, env, &err), -ENOENT);
	assert_int_equal(err.code, MR_E_NOENT);
	assert_string_equal(err.msg, "no-such-program-here: not found in the sandbox");
	assert_int_equal(mr_program_exec(empty, env, &err), -ENOENT);
	assert_int_equal(mr_program_exec(under_file, env, &err), -ENOTDIR);
	assert_int_equal(err.code, MR_E_NOENT);
	assert_int_equal(mr_program_exec(dir, env, &err), -EACCES);
	assert_int_equal(err.code, MR_E_NOEXEC);
}

static void open_pair(int pair[2])
{
	int on = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
}

static void sync_carries_descriptors_by_bit(void **state)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_BUILT,
				   .fds = MR_SYNC_FD_ROOT | MR_SYNC_FD_UPPER };
	struct mr_error err;
	int pair[2], fds[8], pid = 0;

	(void)state;
	open_pair(pair);
	assert_int_equal(mr_sync_send(pair[1], &msg, (int[]){ 0, 1 }, 2), 0);
	memset(&msg, 0, sizeof(msg));
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, &pid, &err), 1);
	assert_int_equal(msg.type, MR_SYNC_BUILT);
	assert_int_equal(pid, getpid());
	assert_true(fds[0] >= 0);
	assert_int_equal(fds[1], -1);
	assert_true(fds[2] >= 0);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	mr_close(fds[0]);
	mr_close(fds[2]);
	mr_close(pair[0]);
	mr_close(pair[1]);
}

static void sync_refuses_a_broken_message(void **state)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_READY, .fds = MR_SYNC_FD_LISTENER };
	struct mr_error err;
	int pair[2], fds[8];

	(void)state;
	open_pair(pair);
	assert_int_equal(mr_recv_msg(pair[0], &msg, sizeof(msg), MSG_DONTWAIT, fds, &(size_t){ 0 },
				     NULL),
			 -EAGAIN);
	assert_int_equal(mr_sync_send(pair[1], &msg, NULL, 0), 0); /* says a descriptor, has none */
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, NULL, &err), -EPROTO);
	assert_int_equal(send(pair[1], "short", 5, 0), 5);
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, NULL, &err), -EPROTO);
	assert_int_equal(err.code, MR_E_PROTO);
	mr_close(pair[1]);
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, NULL, &err), 0);
	mr_close(pair[0]);
}

/* A child that fails while something of ours is on its way to it. */
static void what_was_said_before_the_end_is_heard(void **state)
{
	const struct mr_sync_msg network = { .type = MR_SYNC_NETWORK };
	struct mr_sync_msg msg = { .type = MR_SYNC_FAILED };
	struct mr_error err;
	int pair[2], fds[8];

	(void)state;
	open_pair(pair);
	assert_int_equal(mr_sync_send(pair[0], &network, NULL, 0), 0);
	assert_int_equal(mr_sync_send(pair[1], &msg, NULL, 0), 0);
	mr_close(pair[1]); /* what it was sent is unread */
	msg.type = 0;
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, NULL, &err), 1);
	assert_int_equal(msg.type, MR_SYNC_FAILED);
	assert_int_equal(mr_sync_recv(pair[0], &msg, 0, fds, NULL, &err), 0);
	mr_close(pair[0]);
}

static void ids_of_slots_differ_and_root_is_refused(void **state)
{
	struct mr_ids a, b;
	struct mr_spec spec;
	struct mr_error err;

	(void)state;
	if (geteuid() != 0)
		skip();
	mr_spec_init(&spec);
	assert_int_equal(mr_launch_ids(&spec, 0, &a, &err), 0);
	assert_int_equal(mr_launch_ids(&spec, 1, &b, &err), 0);
	assert_false(a.userns);
	assert_true(a.host_uid != 0 && a.host_uid == a.uid);
	assert_true(a.host_uid != b.host_uid || a.host_uid == 65534);
	spec.sandbox_uid = 0;
	assert_int_equal(mr_launch_ids(&spec, 0, &a, &err), -EINVAL);
	assert_int_equal(err.code, MR_E_USAGE);
	spec.sandbox_userns = MR_USERNS_ALWAYS;
	assert_int_equal(mr_launch_ids(&spec, 0, &a, &err), 0);
	assert_true(a.userns);
	assert_int_equal(a.uid, 0);
	assert_true(a.host_uid != 0);
	mr_spec_deinit(&spec);
}

static void close_except_keeps_exactly_what_is_named(void **state)
{
	int keep[] = { 40, -1, 2, 50, 41 };
	struct mr_error err;
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		for (int fd = 30; fd < 60; fd++) {
			if (dup2(1, fd) != fd)
				_exit(2);
		}
		if (mr_stdio_close_except(keep, N_ELEMENTS(keep), &err) < 0)
			_exit(3);
		for (int fd = 3; fd < 70; fd++) {
			int wanted = fd == 40 || fd == 41 || fd == 50;

			if ((fcntl(fd, F_GETFD) >= 0) != wanted)
				_exit(4);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- what else runs when a file is run ------------------------------------------ */

struct files {
	char dir[32], path[4][64];
};

static void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
	mr_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(mr_write_full(fd, data, size), 0);
}

/* A program of one segment, which names its loader. */
static void write_elf(const char *path, const char *loader)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		char loader[64];
	} elf = { 0 };

	memcpy(elf.head.e_ident, ELFMAG, SELFMAG);
	elf.head.e_ident[EI_CLASS] = ELFCLASS64;
	elf.head.e_phoff = sizeof(elf.head);
	elf.head.e_phentsize = sizeof(elf.segment);
	elf.head.e_phnum = 1;
	elf.segment.p_type = PT_INTERP;
	elf.segment.p_offset = sizeof(elf.head) + sizeof(elf.segment);
	elf.segment.p_filesz = strlen(loader) + 1;
	snprintf(elf.loader, sizeof(elf.loader), "%s", loader);
	write_file(path, &elf, sizeof(elf), 0755);
}

static void write_script(const char *path, const char *interpreter)
{
	char text[80];

	snprintf(text, sizeof(text), "#!%s\n", interpreter);
	write_file(path, text, strlen(text), 0755);
}

static int make_files(void **state)
{
	static struct files f;

	f = (struct files){ .dir = "/tmp/test-launch.XXXXXX" };
	assert_non_null(mkdtemp(f.dir));
	for (size_t i = 0; i < N_ELEMENTS(f.path); i++)
		snprintf(f.path[i], sizeof(f.path[i]), "%s/%zu", f.dir, i);
	*state = &f;
	return 0;
}

static int remove_files(void **state)
{
	struct files *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(f->path); i++)
		unlink(f->path[i]);
	return rmdir(f->dir);
}

static size_t files_of(char *program, char files[MR_PROGRAM_FILES][MR_PROGRAM_PATH_MAX])
{
	char *argv[] = { program, NULL };

	return mr_program_files(argv, NULL, files);
}

/* A policy's floor: a program must not name files that running it does not run. */
static void the_files_of_a_program_are_those_that_run(void **state)
{
	struct files *f = *state;
	char(*files)[MR_PROGRAM_PATH_MAX] = calloc(MR_PROGRAM_FILES, sizeof(*files));

	write_script(f->path[0], f->path[1]);
	write_elf(f->path[1], f->path[2]);
	write_elf(f->path[2], f->path[3]); /* a loader, whose own loader is nobody's */
	write_file(f->path[3], "secret", 6, 0755);
	assert_int_equal(files_of(f->path[0], files), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(files[i], f->path[i]);
	assert_int_equal(files_of(f->path[1], files), 2);
	free(files);
}

static void what_cannot_be_run_is_no_file_of_a_program(void **state)
{
	struct files *f = *state;
	char(*files)[MR_PROGRAM_PATH_MAX] = calloc(MR_PROGRAM_FILES, sizeof(*files));

	write_script(f->path[0], f->path[1]);
	assert_int_equal(files_of(f->path[0], files), 1);
	write_file(f->path[1], "secret", 6, 0644);
	assert_int_equal(files_of(f->path[0], files), 1);
	assert_int_equal(files_of(f->path[1], files), 0);
	assert_int_equal(files_of(f->path[2], files), 0);
	assert_int_equal(files_of(f->dir, files), 0);
	write_script(f->path[2], f->path[2]);
	assert_int_equal(files_of(f->path[2], files), MR_PROGRAM_FILES);
	free(files);
}

/* The supervisor asks this of files of the payload, who may hold a lease on them. */
static void a_lease_does_not_hold_whoever_looks_at_a_program(void **state)
{
	struct files *f = *state;
	char path[MR_PROGRAM_PATH_MAX];
	mr_auto_close int fd = -1, look = -1;

	write_script(f->path[0], "/bin/sh");
	fd = open(f->path[0], O_RDWR | O_CLOEXEC);
	look = open(f->path[0], O_PATH | O_CLOEXEC);
	assert_true(fd >= 0 && look >= 0);
	assert_int_equal(mr_program_interpreter(look, path), MR_PROGRAM_INTERPRETER);
	assert_string_equal(path, "/bin/sh");
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		skip(); /* no leases in this file system */
	alarm(20); /* less than the 45 seconds that a lease has */
	assert_int_equal(mr_program_interpreter(look, path), MR_PROGRAM_NOTHING);
	alarm(0);
	signal(SIGIO, SIG_DFL);
}

static void steps_have_names_of_their_own(void **state)
{
	const char *(*const tables[])(size_t) = { mr_launch_step_name, mr_init_step_name };

	(void)state;
	for (size_t t = 0; t < N_ELEMENTS(tables); t++) {
		assert_non_null(tables[t](0));
		for (size_t i = 0; tables[t](i); i++)
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(tables[t](k), tables[t](i));
	}
}

static void a_step_is_named_when_its_process_was_killed(void **state)
{
	uint32_t progress = 0;
	struct mr_launched l = { .init_pid = 1, .sync_fd = -1, .progress = &progress };
	struct mr_error err;

	(void)state;
	assert_int_equal(mr_launched_killed(&l, "init", &err), -ESRCH);
	assert_string_equal(err.msg, "init was killed during set-up, at step none");
	progress = 1;
	mr_launched_killed(&l, "init", &err);
	assert_string_equal(err.msg, "init was killed during set-up, at step join_cgroups");
	progress = MR_PROGRESS_PAYLOAD;
	mr_launched_killed(&l, "init", &err);
	assert_string_equal(err.msg, "init was killed during set-up, at step session");
	progress = UINT32_MAX; /* what a child says is not trusted */
	mr_launched_killed(&l, "init", &err);
	assert_string_equal(err.msg, "init was killed during set-up, at step none");
}

/* A failure of ours, with this message of the sandbox's side waiting (type 0: it has closed its end). */
static void find_cause_after(uint32_t type, struct mr_error *err)
{
	struct mr_sync_msg msg = { .type = type };
	struct mr_launched l = { .init_pid = getpid() };
	int pair[2];

	open_pair(pair);
	l.sync_fd = pair[0];
	mr_err(&msg.error, MR_E_KERNEL, EPERM, "hostname: no");
	mr_err(err, MR_E_SYS, ENOENT, "ours");
	if (type)
		assert_int_equal(mr_sync_send(pair[1], &msg, NULL, 0), 0);
	else
		pair[1] = mr_close(pair[1]);
	mr_launched_find_cause(&l, err);
	mr_close(pair[0]);
	mr_close(pair[1]);
}

static void a_failure_that_follows_is_told_as_its_cause(void **state)
{
	struct mr_error err;

	(void)state;
	find_cause_after(MR_SYNC_FAILED, &err);
	assert_string_equal(err.msg, "hostname: no");
	assert_int_equal(err.code, MR_E_KERNEL);
	find_cause_after(MR_SYNC_EXITED, &err);
	assert_string_equal(err.msg,
			    "the program's process was killed during set-up, at step none");
	find_cause_after(0, &err);
	assert_string_equal(err.msg, "the sandbox's init was killed during set-up, at step none");
	find_cause_after(MR_SYNC_BUILT, &err); /* it lives, and has not failed */
	assert_string_equal(err.msg, "ours");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_the_callers_environment_passes),
		cmocka_unit_test(later_sources_of_a_variable_win),
		cmocka_unit_test(a_snippet_runs_by_language),
		cmocka_unit_test(a_snippet_with_a_shebang_runs_as_it_is),
		cmocka_unit_test(exec_tells_missing_from_not_executable),
		cmocka_unit_test(sync_carries_descriptors_by_bit),
		cmocka_unit_test(sync_refuses_a_broken_message),
		cmocka_unit_test(what_was_said_before_the_end_is_heard),
		cmocka_unit_test(steps_have_names_of_their_own),
		cmocka_unit_test(a_step_is_named_when_its_process_was_killed),
		cmocka_unit_test(a_failure_that_follows_is_told_as_its_cause),
		cmocka_unit_test(ids_of_slots_differ_and_root_is_refused),
		cmocka_unit_test(close_except_keeps_exactly_what_is_named),
		cmocka_unit_test_setup_teardown(the_files_of_a_program_are_those_that_run,
						make_files, remove_files),
		cmocka_unit_test_setup_teardown(what_cannot_be_run_is_no_file_of_a_program,
						make_files, remove_files),
		cmocka_unit_test_setup_teardown(a_lease_does_not_hold_whoever_looks_at_a_program,
						make_files, remove_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
