/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: the programs say what syscalls.def says
 *
 * Two judges.  A small interpreter runs every program over every call number and
 * chosen arguments, and libseccomp compiles the same rows for comparison.  What
 * the kernel makes of the programs is in test-seccomp-load.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/launch/seccomp.h"
#include "tests/helpers/bad-calls.h"
#include "tests/helpers/run-filter.h"

#define X86_64 AUDIT_ARCH_X86_64
#define I386 AUDIT_ARCH_I386
#define NOTIFY(errnum) (SECCOMP_RET_USER_NOTIF | (uint32_t)(errnum))
#define ANSWER(errnum) (SECCOMP_RET_ERRNO | (uint32_t)(errnum))
#define ALLOW SECCOMP_RET_ALLOW
#define N_POLICIES (MR_SECCOMP_LEVELS * MR_SECCOMP_NETS_ * 2)
#define LAST_NR 469

static const struct row {
	const char *name;
	int nr;
	unsigned int allowed_up_to;
	int errnum;
	const char *reason;
	const char *set;
} rows[] = {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) \
	{ #name, (nr), (allowed_up_to), (errno_value), (reason), #set },
#include "runtime/spec/syscalls.def"
};

/* Calls whose answer depends on their arguments, at some level. */
static const char *const argument_calls[] = {
#define CHECK(name, from, to, first, second, errno_value, reason) #name,
#define WATCH(name, verdict, non_null, errno_value, reason) #name,
#include "runtime/spec/syscalls.def"
};

static struct mr_seccomp_policy policy_at(unsigned int i)
{
	return (struct mr_seccomp_policy){ .level = 1 + i / 2 / MR_SECCOMP_NETS_,
					   .net = (enum mr_seccomp_net)(i / 2 % MR_SECCOMP_NETS_),
					   .watch_opens = i % 2 };
}

static const struct mr_seccomp_policy level3 = { .level = 3 };
static const struct mr_seccomp_policy level4 = { .level = 4 };
static const struct mr_seccomp_policy level5 = { .level = 5 };

static bool judged_by_argument(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(argument_calls); i++) {
		if (strcmp(argument_calls[i], name) == 0)
			return true;
	}
	return false;
}

static uint32_t judge_nr(const struct mr_seccomp_policy *policy, uint32_t arch, uint32_t nr)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch };

	return interpret(mr_seccomp_program(policy), &data);
}

static uint32_t judge_args(const struct mr_seccomp_policy *policy, int nr, uint64_t a0, uint64_t a1,
			   uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = X86_64, .args = { a0, a1, a2 } };

	return interpret(mr_seccomp_program(policy), &data);
}

/* ---- the table ---- */

static void every_row_is_named_and_numbered_as_the_kernel_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, rows[i].name);

		if (nr >= 0)
			assert_int_equal(nr, rows[i].nr);
		if (rows[i].allowed_up_to == 5)
			continue;
		assert_non_null(rows[i].reason);
		assert_true(strlen(rows[i].reason) > 10 && !strchr(rows[i].reason, '\n'));
		assert_true(rows[i].errnum == EPERM || rows[i].errnum == ENOSYS);
	}
	assert_int_equal(N_ELEMENTS(rows), 383);
}

static void no_system_call_is_missing(void **state)
{
	static unsigned int seen[LAST_NR + 1];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_in_range(rows[i].nr, 0, LAST_NR);
		assert_int_equal(seen[rows[i].nr]++, 0);
	}
	/* 0 to 336 and 424 to 469 without a gap; between them x86_64 has nothing */
	for (int nr = 0; nr <= LAST_NR; nr++)
		assert_int_equal(seen[nr], nr <= 336 || nr >= 424);
}

/* The table once more, by name: a call that is let through by mistake differs from it. */
static const struct {
	unsigned int allowed_up_to;
	const char *names; /* each between spaces */
} denied[] = {
	/* clang-format off */
	{ 0,
	  " openat2 name_to_handle_at open_by_handle_at fanotify_init fanotify_mark clone3 "
	  "adjtimex settimeofday clock_settime clock_adjtime mount move_mount fsmount "
	  "umount2 open_tree open_tree_attr fsopen fsconfig fspick mount_setattr "
	  "pivot_root chroot unshare setns sethostname setdomainname add_key request_key "
	  "keyctl bpf perf_event_open ptrace process_vm_readv process_vm_writev "
	  "pidfd_getfd kcmp io_uring_setup io_uring_enter io_uring_register userfaultfd "
	  "init_module delete_module finit_module kexec_load kexec_file_load reboot "
	  "swapon swapoff quotactl quotactl_fd acct syslog iopl ioperm vhangup "
	  "modify_ldt uselib _sysctl create_module get_kernel_syms query_module "
	  "nfsservctl getpmsg putpmsg afs_syscall tuxcall security lookup_dcookie "
	  "epoll_ctl_old epoll_wait_old vserver " },
	{ 2,
	  " ustat sysfs set_thread_area get_thread_area process_madvise process_mrelease "
	  "migrate_pages move_pages lsm_get_self_attr lsm_set_self_attr lsm_list_modules "
	  "statmount listmount " },
	{ 3,
	  " vmsplice sync syncfs cachestat io_setup io_destroy io_getevents io_submit "
	  "io_cancel io_pgetevents get_robust_list setpriority sched_setparam "
	  "sched_setscheduler ioprio_set sched_setattr mlockall munlockall memfd_secret "
	  "remap_file_pages mbind set_mempolicy set_mempolicy_home_node shmget shmat "
	  "shmctl semget semop semctl shmdt msgget msgsnd msgrcv msgctl semtimedop "
	  "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr setuid "
	  "setgid setreuid setregid setgroups setresuid setresgid setfsuid setfsgid "
	  "capset seccomp " },
	/* clang-format on */
};

static unsigned int level_of(const char *name)
{
	mr_auto_free char *padded = mr_str_format(" %s ", name);

	for (size_t i = 0; i < N_ELEMENTS(denied); i++) {
		if (strstr(denied[i].names, padded))
			return denied[i].allowed_up_to;
	}
	return 5;
}

static void what_is_denied_is_known_by_name(void **state)
{
	size_t n_denied = 0, n_named = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (rows[i].allowed_up_to != level_of(rows[i].name))
			fail_msg("%s is allowed up to level %u, not %u", rows[i].name,
				 rows[i].allowed_up_to, level_of(rows[i].name));
		n_denied += rows[i].allowed_up_to < 5;
	}
	for (size_t i = 0; i < N_ELEMENTS(denied); i++) {
		for (const char *p = denied[i].names; p[1]; p++)
			n_named += *p == ' ';
	}
	assert_int_equal(n_named, n_denied);
}

static uint32_t expected_of_row(const struct row *row, unsigned int level)
{
	if (level <= row->allowed_up_to)
		return ALLOW;
	return row->errnum == ENOSYS ? ANSWER(ENOSYS) : NOTIFY(row->errnum);
}

static void every_program_answers_as_the_rows_say(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy policy = policy_at(i);

		for (size_t k = 0; k < N_ELEMENTS(rows); k++) {
			const struct row *row = &rows[k];
			bool allowed = policy.level <= row->allowed_up_to;

			if (allowed && judged_by_argument(row->name))
				continue;
			if (judge_nr(&policy, X86_64, (uint32_t)row->nr) !=
			    expected_of_row(row, policy.level))
				fail_msg("%s at level %u", row->name, policy.level);
		}
	}
}

static void unknown_numbers_and_other_abis_get_enosys(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		for (uint32_t nr = 337; nr < 424; nr++)
			assert_int_equal(judge_nr(&p, X86_64, nr), ANSWER(ENOSYS));
		for (uint32_t nr = LAST_NR + 1; nr < 2000; nr++)
			assert_int_equal(judge_nr(&p, X86_64, nr), ANSWER(ENOSYS));
		for (uint32_t nr = 0; nr < 600; nr++) {
			assert_int_equal(judge_nr(&p, X86_64, 0x40000000U + nr), NOTIFY(ENOSYS));
			assert_int_equal(judge_nr(&p, I386, nr), NOTIFY(ENOSYS));
			assert_int_equal(judge_nr(&p, AUDIT_ARCH_AARCH64, nr), NOTIFY(ENOSYS));
		}
		assert_int_equal(judge_nr(&p, X86_64, 0x3fffffff), ANSWER(ENOSYS));
		assert_int_equal(judge_nr(&p, X86_64, 0x80000000), ANSWER(ENOSYS));
		assert_int_equal(judge_nr(&p, X86_64, UINT32_MAX), ANSWER(ENOSYS));
	}
}

static void programs_are_short_and_shared(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		assert_in_range(mr_seccomp_program(&p)->len, 50, 255);
	}
	assert_ptr_equal(mr_seccomp_programs[0][0][0].filter, mr_seccomp_programs[1][0][0].filter);
	assert_ptr_equal(mr_seccomp_programs[4][0][0].filter, mr_seccomp_programs[4][0][1].filter);
	assert_ptr_not_equal(mr_seccomp_programs[2][0][0].filter,
			     mr_seccomp_programs[2][1][0].filter);
}

/* The kernel's bitmap takes a call whose answer needs no argument: the hot ones must be in it. */
static void hot_calls_look_at_no_argument(void **state)
{
	static const int hot[] = { SYS_read,   SYS_write,	  SYS_getppid, SYS_futex,
				   SYS_mmap,   SYS_newfstatat,	  SYS_munmap,  SYS_close,
				   SYS_fstat,  SYS_clock_gettime, SYS_lseek,   SYS_sendmsg,
				   SYS_execve, SYS_epoll_wait };
	struct sock_fprog prog = *mr_seccomp_program(&level3);

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(hot); i++) {
		for (uint64_t v = 0; v < 3; v++) {
			uint64_t a = v == 2 ? UINT64_MAX : v;
			struct seccomp_data data = { .nr = hot[i],
						     .arch = X86_64,
						     .args = { a, a, a, a, a, a } };

			assert_int_equal(interpret(&prog, &data), ALLOW);
		}
	}
}

/* ---- libseccomp as the oracle ---- */

/* Argument rules in libseccomp's words: these allow, the default denies. */
static int add_argument_rules(scmp_filter_ctx ctx, const char *name, int nr)
{
	static const uint64_t personalities[] = { 0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff };
	int r = 0;

	if (strcmp(name, "clone") == 0)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1,
					SCMP_A0(SCMP_CMP_MASKED_EQ, 0x7e020000, 0));
	if (strcmp(name, "prctl") == 0)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1, SCMP_A0_32(SCMP_CMP_NE, 35, 0));
	if (strcmp(name, "socketpair") == 0)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1, SCMP_A0_32(SCMP_CMP_EQ, 1, 0));
	for (size_t i = 0; strcmp(name, "personality") == 0 && i < N_ELEMENTS(personalities); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1,
				      SCMP_A0_32(SCMP_CMP_EQ, personalities[i], 0));
	return r;
}

static bool oracle_knows(const char *name)
{
	return !judged_by_argument(name) || strcmp(name, "clone") == 0 ||
	       strcmp(name, "prctl") == 0 || strcmp(name, "socketpair") == 0 ||
	       strcmp(name, "personality") == 0;
}

static void add_oracle_rules(scmp_filter_ctx ctx, unsigned int level)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		int r = 0;

		if (!oracle_knows(row->name))
			continue;
		if (level > row->allowed_up_to && row->errnum != ENOSYS)
			r = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, row->nr, 0);
		else if (level <= row->allowed_up_to && judged_by_argument(row->name))
			r = add_argument_rules(ctx, row->name, row->nr);
		else if (level <= row->allowed_up_to)
			r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, row->nr, 0);
		assert_int_equal(r, 0);
	}
}

static struct sock_fprog compile_oracle(unsigned int level, uint32_t optimize)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	mr_auto_close int fd = memfd_create("oracle", MFD_CLOEXEC);
	struct sock_fprog prog = { .len = 0 };
	struct stat st;

	assert_non_null(ctx);
	assert_int_equal(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)), 0);
	assert_int_equal(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, optimize), 0);
	add_oracle_rules(ctx, level);
	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	seccomp_release(ctx);
	assert_int_equal(fstat(fd, &st), 0);
	prog.filter = malloc((size_t)st.st_size);
	prog.len = (unsigned short)((size_t)st.st_size / sizeof(prog.filter[0]));
	assert_non_null(prog.filter);
	assert_int_equal(pread(fd, prog.filter, (size_t)st.st_size, 0), st.st_size);
	return prog;
}

/* Without the errno that only our programs carry in a notification. */
static uint32_t action_of(uint32_t ret)
{
	if (ret == NOTIFY(ENOSYS))
		return ANSWER(ENOSYS); /* libseccomp cannot notify of another ABI */
	return (ret & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF ? NOTIFY(0) : ret;
}

static void compare_with_oracle(const struct sock_fprog *oracle, const struct sock_fprog *ours,
				const struct seccomp_data *data, bool by_argument)
{
	uint32_t theirs = action_of(interpret(oracle, data));
	uint32_t mine = action_of(interpret(ours, data));

	/* where arguments decide, the oracle tells only allowed from not allowed */
	if (by_argument ? (theirs == ALLOW) != (mine == ALLOW) : theirs != mine)
		fail_msg("arch %x call %d argument %llx: 0x%08x, libseccomp 0x%08x", data->arch,
			 data->nr, (unsigned long long)data->args[0], mine, theirs);
}

static const struct row *find_row(int nr)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (rows[i].nr == nr)
			return &rows[i];
	}
	return NULL;
}

static void compare_number(const struct sock_fprog *oracle, const struct sock_fprog *ours, int nr)
{
	static const uint64_t values[] = { 0,	       1,	   2,	       8,
					   35,	       0x20000,	   0x40000,    0x400000,
					   0x10000011, 0x7e020000, 0x01200011, 0x80000000,
					   0xffffffff };
	const struct row *row = find_row(nr);
	struct seccomp_data data = { .nr = nr, .arch = X86_64 };

	if (row && !oracle_knows(row->name))
		return;
	for (size_t i = 0; i < N_ELEMENTS(values); i++) {
		data.args[0] = values[i];
		compare_with_oracle(oracle, ours, &data, row && judged_by_argument(row->name));
	}
}

static void libseccomp_agrees(void **state)
{
	(void)state;
	for (unsigned int level = 1; level <= 5; level++) {
		for (uint32_t optimize = 1; optimize <= 2; optimize++) {
			struct mr_seccomp_policy policy = { .level = level,
							    .net = MR_SECCOMP_NET_ALLOW };
			const struct sock_fprog *ours = mr_seccomp_program(&policy);
			struct sock_fprog oracle = compile_oracle(level, optimize);

			for (int nr = 0; nr <= 600; nr++) {
				struct seccomp_data x32 = { .nr = 0x40000000 | nr, .arch = X86_64 };
				struct seccomp_data i386 = { .nr = nr, .arch = I386 };

				compare_number(&oracle, ours, nr);
				compare_with_oracle(&oracle, ours, &x32, false);
				compare_with_oracle(&oracle, ours, &i386, false);
			}
			free(oracle.filter);
		}
	}
}

/* ---- arguments ---- */

static void namespaces_are_denied_in_clone(void **state)
{
	static const uint64_t namespaces[] = { CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					       CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
					       CLONE_NEWNET };

	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		for (size_t k = 0; k < N_ELEMENTS(namespaces); k++) {
			uint64_t high = 0xabcd00000000 | namespaces[k];

			assert_int_equal(judge_args(&p, SYS_clone, namespaces[k] | SIGCHLD, 0, 0),
					 NOTIFY(EPERM));
			assert_int_equal(judge_args(&p, SYS_clone, high, 0, 0), NOTIFY(EPERM));
		}
		/* pthread_create and fork */
		assert_int_equal(judge_args(&p, SYS_clone, 0x3d0f00, 0, 0), ALLOW);
		assert_int_equal(judge_args(&p, SYS_clone, 0x1200011, 0, 0), ALLOW);
		assert_int_equal(judge_args(&p, SYS_clone3, 0, 0, 0), ANSWER(ENOSYS));
	}
}

static void terminal_injection_is_denied_in_the_low_half(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x5412, 0), NOTIFY(EPERM));
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x100005412, 0), NOTIFY(EPERM));
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0xffffffff00005412, 0),
				 NOTIFY(EPERM));
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x541c, 0), NOTIFY(EPERM));
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x10000541c, 0), NOTIFY(EPERM));
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x5423, 0),
				 p.level >= 3 ? NOTIFY(EPERM) : ALLOW);
		assert_int_equal(judge_args(&p, SYS_ioctl, 0x5412, 0x5413, 0x5412), ALLOW);
		assert_int_equal(judge_args(&p, SYS_ioctl, 0, 0x5401, 0), ALLOW);
	}
}

/* What a case stands for: shown to the supervisor unless the network is the host's. */
#define SHOWN UINT32_MAX

static void sockets_are_unix_internet_and_route(void **state)
{
	static const struct {
		uint64_t domain, type, protocol;
		uint32_t from_level_3, below;
	} cases[] = {
		{ AF_UNIX, SOCK_STREAM, 0, ALLOW, ALLOW },
		{ AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ALLOW, ALLOW },
		{ AF_INET, SOCK_STREAM, 0, SHOWN, SHOWN },
		{ AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP, SHOWN, SHOWN },
		{ AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP, SHOWN, SHOWN },
		{ AF_INET, SOCK_STREAM, 262, SHOWN, SHOWN },
		{ AF_INET, SOCK_DGRAM, IPPROTO_ICMP, SHOWN, SHOWN },
		{ AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, ALLOW, ALLOW },
		{ AF_NETLINK, SOCK_DGRAM, 0, ALLOW, ALLOW },
		{ AF_NETLINK, SOCK_RAW, 9, NOTIFY(EPROTONOSUPPORT), ALLOW },
		{ AF_NETLINK, SOCK_RAW, 12, NOTIFY(EPROTONOSUPPORT), ALLOW },
		{ AF_INET, SOCK_RAW, IPPROTO_ICMP, NOTIFY(EPERM), SHOWN },
		{ AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 6, NOTIFY(EPERM), SHOWN },
		{ AF_INET6, SOCK_RAW, IPPROTO_RAW, NOTIFY(EPERM), SHOWN },
		{ AF_INET, SOCK_PACKET, 768, NOTIFY(EPERM), SHOWN },
		{ AF_INET, 0x100000003, 6, NOTIFY(EPERM), SHOWN },
		{ AF_INET, SOCK_STREAM, 132, NOTIFY(EPROTONOSUPPORT), SHOWN },
		{ AF_INET6, SOCK_SEQPACKET, 132, NOTIFY(EPROTONOSUPPORT), SHOWN },
		{ AF_INET, SOCK_DCCP, 33, NOTIFY(EPROTONOSUPPORT), SHOWN },
		{ AF_INET, SOCK_DGRAM, 115, NOTIFY(EPROTONOSUPPORT), SHOWN },
		{ AF_INET, SOCK_STREAM, 256, NOTIFY(EPROTONOSUPPORT), SHOWN },
		{ AF_PACKET, SOCK_RAW, 768, NOTIFY(EAFNOSUPPORT), SHOWN },
		{ AF_PACKET, SOCK_DGRAM, 768, NOTIFY(EAFNOSUPPORT), SHOWN },
		{ AF_VSOCK, SOCK_STREAM, 0, NOTIFY(EAFNOSUPPORT), NOTIFY(EAFNOSUPPORT) },
		{ AF_ALG, SOCK_SEQPACKET, 0, NOTIFY(EAFNOSUPPORT), NOTIFY(EAFNOSUPPORT) },
		{ 0x100000000 | AF_VSOCK, SOCK_STREAM, 0, NOTIFY(EAFNOSUPPORT),
		  NOTIFY(EAFNOSUPPORT) },
		{ AF_UNSPEC, SOCK_STREAM, 0, NOTIFY(EAFNOSUPPORT), NOTIFY(EAFNOSUPPORT) },
		{ 99, SOCK_STREAM, 0, NOTIFY(EAFNOSUPPORT), NOTIFY(EAFNOSUPPORT) },
	};

	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		for (size_t k = 0; k < N_ELEMENTS(cases); k++) {
			uint32_t want = p.level >= 3 ? cases[k].from_level_3 : cases[k].below;

			if (want == SHOWN)
				want = p.net == MR_SECCOMP_NET_ALLOW ? ALLOW : NOTIFY(0);
			assert_int_equal(judge_args(&p, SYS_socket, cases[k].domain, cases[k].type,
						    cases[k].protocol),
					 want);
		}
	}
}

static void memory_is_not_writable_and_executable_from_level_4(void **state)
{
	static const int calls[] = { SYS_mmap, SYS_mprotect, SYS_pkey_mprotect };

	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);
		uint32_t tight = p.level >= 4 ? NOTIFY(EPERM) : ALLOW;

		for (size_t k = 0; k < N_ELEMENTS(calls); k++) {
			uint32_t exec = calls[k] == SYS_mmap ? ALLOW : tight;

			assert_int_equal(judge_args(&p, calls[k], 0, 0, 7), tight);
			assert_int_equal(judge_args(&p, calls[k], 0, 0, 6), tight);
			assert_int_equal(judge_args(&p, calls[k], 0, 0, 5), exec);
			assert_int_equal(judge_args(&p, calls[k], 0, 0, 4), exec);
			assert_int_equal(judge_args(&p, calls[k], 6, 6, 3), ALLOW);
			assert_int_equal(judge_args(&p, calls[k], 6, 6, 0), ALLOW);
		}
	}
}

static void network_calls_are_notified_where_it_is_denied(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);
		uint32_t net = p.net == MR_SECCOMP_NET_DENY ? NOTIFY(0) : ALLOW;
		const struct sock_fprog *prog = mr_seccomp_program(&p);
		struct seccomp_data to = { .nr = SYS_sendto, .arch = X86_64 };

		assert_int_equal(judge_nr(&p, X86_64, SYS_connect), net);
		assert_int_equal(judge_nr(&p, X86_64, SYS_bind), net);
		assert_int_equal(interpret(prog, &to), ALLOW);
		to.args[4] = 0x7fff0000;
		assert_int_equal(interpret(prog, &to), net);
		to.args[4] = 0x7f0000000000; /* an address whose low half is zero */
		assert_int_equal(interpret(prog, &to), net);
		to.args[4] = 0;
		to.args[5] = 16;
		assert_int_equal(interpret(prog, &to), ALLOW);
		assert_int_equal(judge_nr(&p, X86_64, SYS_sendmsg), ALLOW);
		assert_int_equal(judge_nr(&p, X86_64, SYS_sendmmsg), ALLOW);
	}
}

static void opens_and_execs_are_notified_by_level(void **state)
{
	static const int opens[] = { SYS_open, SYS_creat, SYS_openat };
	static const int execs[] = { SYS_execve, SYS_execveat };

	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		for (size_t k = 0; k < N_ELEMENTS(opens); k++)
			assert_int_equal(judge_nr(&p, X86_64, (uint32_t)opens[k]),
					 p.watch_opens || p.level == 5 ? NOTIFY(0) : ALLOW);
		for (size_t k = 0; k < N_ELEMENTS(execs); k++)
			assert_int_equal(judge_nr(&p, X86_64, (uint32_t)execs[k]),
					 p.level >= 4 ? NOTIFY(MR_SECCOMP_ALONE_REFUSE) : ALLOW);
	}
}

/* Every call of x86_64 that is given the mode of a file, and what keeps set-user-ID and set-group-ID
 * bits out of it.  A call that is new in the kernel gets a row here. */
static void no_call_makes_a_set_id_file(void **state)
{
	enum { REFUSED, WITH_FLAGS, NO_SUCH_CALL, BY_KERNEL };
	static const struct {
		const char *name;
		unsigned int mode; /* number of the argument */
		int how;
	} calls[] = {
		{ "open", 2, WITH_FLAGS },   { "openat", 3, WITH_FLAGS },
		{ "creat", 1, REFUSED },     { "mknod", 1, REFUSED },
		{ "mknodat", 2, REFUSED },   { "chmod", 1, REFUSED },
		{ "fchmod", 1, REFUSED },    { "fchmodat", 2, REFUSED },
		{ "fchmodat2", 2, REFUSED }, { "openat2", 0, NO_SUCH_CALL },
		{ "mkdir", 1, BY_KERNEL },   { "mkdirat", 2, BY_KERNEL },
		{ "mq_open", 2, BY_KERNEL },
	};
	static const uint64_t flags[] = { O_CREAT | O_RDWR, O_CREAT | O_EXCL, O_TMPFILE | O_RDWR,
					  O_CREAT | O_TRUNC | (UINT64_C(1) << 32) };
	static const uint64_t modes[] = { 04000, 02000, 06777, S_IFREG | 04755,
					  02755 | (UINT64_C(1) << 40) };

	(void)state;
	for (size_t i = 0; i < N_POLICIES * N_ELEMENTS(calls); i++) {
		struct mr_seccomp_policy p = policy_at((unsigned int)(i / N_ELEMENTS(calls)));
		const unsigned int mode = calls[i % N_ELEMENTS(calls)].mode;
		const int how = calls[i % N_ELEMENTS(calls)].how;
		struct seccomp_data data = { .arch = X86_64 };
		uint32_t plain;

		data.nr = seccomp_syscall_resolve_name(calls[i % N_ELEMENTS(calls)].name);
		plain = interpret(mr_seccomp_program(&p), &data);
		if (how == NO_SUCH_CALL)
			assert_int_equal(plain, ANSWER(ENOSYS));
		for (size_t k = 0; how < NO_SUCH_CALL && k < 4 * 5; k++) {
			if (how == WITH_FLAGS)
				data.args[mode - 1] = flags[k % 4];
			data.args[mode] = modes[k / 4];
			assert_int_equal(interpret(mr_seccomp_program(&p), &data), NOTIFY(EPERM));
			assert_int_equal(mr_seccomp_rule_for(&p, &data)->errnum, EPERM);
			data.args[mode] = S_IFREG | 01777;
			assert_int_equal(interpret(mr_seccomp_program(&p), &data), plain);
			if (how != WITH_FLAGS)
				continue;
			data.args[mode] = UINT64_MAX; /* no mode: what was in the register */
			data.args[mode - 1] = O_RDWR | O_DIRECTORY | O_TRUNC;
			assert_int_equal(interpret(mr_seccomp_program(&p), &data), plain);
		}
	}
}

/* The supervisor, to which a document shows a call before the level's checks, makes them up. */
static void what_is_shown_is_checked_all_the_same(void **state)
{
	const struct mr_seccomp_policy paths = { .level = 3, .watch_paths = true };
	const struct mr_seccomp_policy opens = { .level = 3, .watch_opens = true };
	struct seccomp_data data = { .nr = SYS_mknod, .arch = X86_64, .args = { 0, 06777, 0 } };

	(void)state;
	assert_int_equal(mr_seccomp_rule_for(&paths, &data)->verdict, MR_SECCOMP_DENY);
	data.args[1] = 0777;
	assert_int_equal(mr_seccomp_rule_for(&paths, &data)->verdict, MR_SECCOMP_PATH);
	data = (struct seccomp_data){ .nr = SYS_openat, .arch = X86_64 };
	data.args[2] = O_CREAT;
	data.args[3] = 04755;
	assert_int_equal(mr_seccomp_rule_for(&paths, &data)->verdict, MR_SECCOMP_DENY);
	assert_int_equal(mr_seccomp_rule_for(&opens, &data)->verdict, MR_SECCOMP_DENY);
	data.args[3] = 0755;
	assert_int_equal(mr_seccomp_rule_for(&paths, &data)->verdict, MR_SECCOMP_PATH);
	assert_int_equal(mr_seccomp_rule_for(&opens, &data)->verdict, MR_SECCOMP_OPEN);
}

/* ---- rules ---- */

static void assert_rule(const struct mr_seccomp_rule *rule, const char *name,
			enum mr_seccomp_verdict verdict, int errnum, const char *set,
			unsigned int allowed_up_to)
{
	assert_string_equal(rule->syscall, name);
	assert_int_equal(rule->verdict, verdict);
	assert_int_equal(rule->errnum, errnum);
	assert_string_equal(rule->set, set);
	assert_int_equal(rule->allowed_up_to, allowed_up_to);
	assert_non_null(rule->reason);
}

static void rules_name_the_call_and_the_reason(void **state)
{
	const struct mr_seccomp_policy *p = &level3;

	(void)state;
	assert_rule(mr_seccomp_rule(p, X86_64, SYS_mount), "mount", MR_SECCOMP_DENY, EPERM, "mount",
		    0);
	assert_string_equal(mr_seccomp_rule(p, X86_64, SYS_keyctl)->reason,
			    "kernel keyrings are shared by user id, across sandboxes");
	assert_rule(mr_seccomp_rule(p, X86_64, SYS_move_pages), "move_pages", MR_SECCOMP_DENY,
		    EPERM, "numa", 2);
	assert_rule(mr_seccomp_rule(p, X86_64, SYS_connect), "connect", MR_SECCOMP_NET, EACCES,
		    "net", 5);
	assert_rule(mr_seccomp_rule(&level5, X86_64, SYS_openat), "openat", MR_SECCOMP_OPEN, EACCES,
		    "file", 5);
	assert_rule(mr_seccomp_rule(&level4, X86_64, SYS_execve), "execve", MR_SECCOMP_EXEC, EPERM,
		    "process", 5);
	assert_rule(mr_seccomp_rule(p, X86_64, SYS_clone), "clone", MR_SECCOMP_DENY, EPERM,
		    "process", 0);
	assert_rule(mr_seccomp_rule(&level4, X86_64, SYS_mmap), "mmap", MR_SECCOMP_DENY, EPERM,
		    "memory", 3);
	assert_rule(mr_seccomp_rule(p, I386, SYS_read), "?", MR_SECCOMP_DENY, ENOSYS, "abi", 0);
	assert_rule(mr_seccomp_rule(p, X86_64, 0x40000000), "?", MR_SECCOMP_DENY, ENOSYS, "abi", 0);
	assert_rule(mr_seccomp_rule(p, X86_64, 400), "?", MR_SECCOMP_DENY, ENOSYS, "unknown", 0);
	assert_rule(mr_seccomp_rule(p, X86_64, 100000), "?", MR_SECCOMP_DENY, ENOSYS, "unknown", 0);
	assert_rule(mr_seccomp_rule(p, X86_64, -1), "?", MR_SECCOMP_DENY, ENOSYS, "unknown", 0);
	/* never notified: the answer must not be a success that was not one */
	assert_rule(mr_seccomp_rule(p, X86_64, SYS_read), "?", MR_SECCOMP_DENY, EPERM, "unknown",
		    0);
}

static void rules_with_arguments_name_the_check(void **state)
{
	struct seccomp_data data = { .nr = SYS_socket, .arch = X86_64, .args = { AF_VSOCK, 1, 0 } };
	const struct mr_seccomp_rule *rule = mr_seccomp_rule_for(&level3, &data);

	(void)state;
	assert_rule(rule, "socket", MR_SECCOMP_DENY, EAFNOSUPPORT, "net", 0);
	assert_memory_equal(rule->reason, "AF_VSOCK ", 9);
	data.args[0] = AF_INET;
	data.args[1] = SOCK_RAW;
	rule = mr_seccomp_rule_for(&level3, &data);
	assert_rule(rule, "socket", MR_SECCOMP_DENY, EPERM, "net", 2);
	data.args[1] = SOCK_DGRAM;
	rule = mr_seccomp_rule_for(&level3, &data);
	assert_int_equal(rule->verdict, MR_SECCOMP_SOCKET);
	assert_string_equal(rule->syscall, "socket");
	data.nr = SYS_ioctl;
	data.args[1] = 0x100005412;
	rule = mr_seccomp_rule_for(&level3, &data);
	assert_rule(rule, "ioctl", MR_SECCOMP_DENY, EPERM, "io", 0);
	assert_memory_equal(rule->reason, "TIOCSTI ", 8);
}

/* What the program notifies with and what the rule answers are one errno. */
static void rules_and_programs_agree(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		for (size_t k = 0; k < N_BAD_CALLS; k++) {
			struct seccomp_data data = { .nr = (int)bad_calls[k].nr, .arch = X86_64 };
			uint32_t ret;

			if (bad_calls[k].nr < 0)
				continue;
			memcpy(data.args, bad_calls[k].args, sizeof(data.args));
			ret = interpret(mr_seccomp_program(&p), &data);
			if ((ret & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF)
				assert_int_equal(mr_seccomp_rule_for(&p, &data)->errnum,
						 ret & SECCOMP_RET_DATA);
		}
	}
}

static void hash_is_that_of_the_bytes(void **state)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog prog = { .len = 1, .filter = &allow };
	char hash[65], other[65];

	(void)state;
	mr_seccomp_hash(&prog, hash);
	/* printf '\x06\0\0\0\0\0\xff\x7f' | sha256sum */
	assert_string_equal(hash,
			    "40b2a31e1a78576bb4afdf1433867d0cc67b769635ef549fba81c7d37570520f");
	mr_seccomp_hash(mr_seccomp_program(&level3), hash);
	mr_seccomp_hash(mr_seccomp_program(&level4), other);
	assert_int_equal(strlen(hash), 64);
	assert_string_not_equal(hash, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_named_and_numbered_as_the_kernel_does),
		cmocka_unit_test(no_system_call_is_missing),
		cmocka_unit_test(what_is_denied_is_known_by_name),
		cmocka_unit_test(every_program_answers_as_the_rows_say),
		cmocka_unit_test(unknown_numbers_and_other_abis_get_enosys),
		cmocka_unit_test(programs_are_short_and_shared),
		cmocka_unit_test(hot_calls_look_at_no_argument),
		cmocka_unit_test(libseccomp_agrees),
		cmocka_unit_test(namespaces_are_denied_in_clone),
		cmocka_unit_test(terminal_injection_is_denied_in_the_low_half),
		cmocka_unit_test(sockets_are_unix_internet_and_route),
		cmocka_unit_test(memory_is_not_writable_and_executable_from_level_4),
		cmocka_unit_test(network_calls_are_notified_where_it_is_denied),
		cmocka_unit_test(opens_and_execs_are_notified_by_level),
		cmocka_unit_test(no_call_makes_a_set_id_file),
		cmocka_unit_test(what_is_shown_is_checked_all_the_same),
		cmocka_unit_test(rules_name_the_call_and_the_reason),
		cmocka_unit_test(rules_with_arguments_name_the_check),
		cmocka_unit_test(rules_and_programs_agree),
		cmocka_unit_test(hash_is_that_of_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
