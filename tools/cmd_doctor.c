/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace doctor: what this host gives to a sandbox, and what to do about the rest
 *
 * Exit status 0 when everything that a run with nothing but defaults needs is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "cgroups/limits.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/spec/spec.h"
#include "tools/cmd.h"
#include "tools/doctor.h"
#include "tools/term.h"

#define MR_WAIT_KILLABLE_RECV (1UL << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */

struct doctor {
	struct mr_cmd_common common;
	struct mr_doctor_answer *answer; /* shared with the children */
	bool well;
	json_t *list; /* of rows, for --json */
};

static const struct mr_cmd_row rows[] = { MR_CMD_JSON_ROWS(doctor) };

static const struct mr_doctor_check checks[] = {
#define CHECK(group, name, probe, number, word, need, consequence, fix) \
	{ group, name, mr_doctor_##probe, number, word, MR_DOCTOR_##need, consequence, fix },
#include "tools/doctor.def"
#undef CHECK
};

static const char *const state_names[] = {
	[MR_DOCTOR_OK] = "ok", [MR_DOCTOR_DEGRADED] = "degraded", [MR_DOCTOR_MISSING] = "missing"
};

/* --- answers ------------------------------------------------------------------------------ */

__attribute__((format(printf, 4, 0))) static void say(struct mr_doctor_answer *answer,
						      enum mr_doctor_state state, int errnum,
						      const char *fmt, va_list ap)
{
	*answer = (struct mr_doctor_answer){ .state = state, .errnum = errnum };
	errno = errnum; /* for %m */
	if (fmt)
		vsnprintf(answer->detail, sizeof(answer->detail), fmt, ap);
	/* Of a PATH of any bytes, or cut within a character: JSON would have no row. */
	if (!mr_str_utf8_valid(answer->detail, strlen(answer->detail)))
		for (char *p = answer->detail; *p; p++)
			*p = (unsigned char)*p < 0x80 ? *p : '?';
}

void mr_doctor_say_ok(struct mr_doctor_answer *answer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(answer, MR_DOCTOR_OK, 0, fmt, ap);
	va_end(ap);
}

void mr_doctor_say_degraded(struct mr_doctor_answer *answer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(answer, MR_DOCTOR_DEGRADED, 0, fmt, ap);
	va_end(ap);
}

void mr_doctor_say_missing(struct mr_doctor_answer *answer, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(answer, MR_DOCTOR_MISSING, errnum, fmt ? fmt : "%m", ap);
	va_end(ap);
}

void mr_doctor_say_error(struct mr_doctor_answer *answer, const struct mr_error *err)
{
	mr_doctor_say_missing(answer, err->errnum, "%s", err->msg);
}

/* --- children ------------------------------------------------------------------------------ */

pid_t mr_doctor_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	/* In the first process of a pid namespace the parent has no number. */
	if (pid == 0 &&
	    (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || (getppid() != parent && getppid() != 0)))
		_exit(127);
	return pid;
}

/* Wait for its end; killed when the time is over. Its wait status, or -1. */
static int await(pid_t pid, int timeout_ms)
{
	mr_auto_close int fd = mr_pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int status, n;

	do
		n = fd < 0 ? 1 : poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		kill(pid, SIGKILL);
	status = mr_wait(pid);
	return n == 0 ? -1 : status;
}

static void try_check(struct doctor *doctor, const struct mr_doctor_check *check)
{
	pid_t pid;
	int status;

	mr_doctor_say_missing(doctor->answer, ETIME, "it did not answer in %ju s",
			      (uintmax_t)MR_PATIENCE_S(DOCTOR_PROBE));
	fflush(stdout);
	pid = mr_doctor_fork();
	if (pid == 0) {
		check->probe(check, doctor->answer);
		_exit(0);
	}
	if (pid < 0) {
		mr_doctor_say_missing(doctor->answer, errno, "fork: %m");
		return;
	}
	status = await(pid, MR_PATIENCE_MS(DOCTOR_PROBE));
	if (status > 0)
		mr_doctor_say_missing(doctor->answer, EFAULT, "the probe was ended (status %d)",
				      status);
}

static void gather(void)
{
	pid_t pid;

	fflush(stdout);
	pid = mr_doctor_fork();
	if (pid == 0) {
		mr_doctor_gather();
		_exit(0);
	}
	if (pid > 0)
		await(pid, MR_PATIENCE_MS(DOCTOR_GATHER));
}

/* --- the table ------------------------------------------------------------------------------- */

static bool is_needed(const struct mr_doctor_check *check)
{
	switch (check->need) {
	case MR_DOCTOR_EVERY:
		return true;
	case MR_DOCTOR_ROOT:
		return geteuid() == 0;
	case MR_DOCTOR_USER:
		return geteuid() != 0;
	case MR_DOCTOR_SOME:
		break;
	}
	return false;
}

static const char *errno_text(int errnum, char buf[16])
{
	const char *name = errnum ? strerrorname_np(errnum) : NULL;

	if (!errnum)
		return "-";
	snprintf(buf, 16, "%d", errnum);
	return name ? name : buf;
}

static const char *fix_of(const struct mr_doctor_check *check, const struct mr_doctor_answer *a)
{
	return a->lacks_rights ? "run as root (CAP_BPF, CAP_PERFMON), outside of a user namespace"
			       : check->fix;
}

static json_t *row_json(const struct mr_doctor_check *check, const struct mr_doctor_answer *a)
{
	bool ok = a->state == MR_DOCTOR_OK;
	char buf[16];

	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:s?, s:s?, s:s?, s:s?}", "group", check->group,
			 "name", check->name, "state", state_names[a->state], "needed",
			 is_needed(check), "errno",
			 a->errnum ? json_integer(a->errnum) : json_null(), "errno_name",
			 a->errnum ? errno_text(a->errnum, buf) : NULL, "detail",
			 a->detail[0] ? a->detail : NULL, "consequence",
			 ok ? NULL : check->consequence, "fix", ok ? NULL : fix_of(check, a));
}

static void print_row(const struct mr_doctor_check *check, const struct mr_doctor_answer *a)
{
	static const enum mr_term_style styles[] = { MR_TERM_PLAIN, MR_TERM_YELLOW,
						     MR_TERM_YELLOW };
	bool bad = a->state == MR_DOCTOR_MISSING && is_needed(check);
	char buf[16];

	mr_term_cell(bad ? MR_TERM_RED : styles[a->state], state_names[a->state], 8);
	putchar(' ');
	mr_term_cell(MR_TERM_PLAIN, check->group, 9);
	putchar(' ');
	mr_term_cell(MR_TERM_BOLD, check->name, 24);
	putchar(' ');
	mr_term_cell(MR_TERM_PLAIN, errno_text(a->errnum, buf), 12);
	putchar(' ');
	if (a->detail[0])
		mr_term_put(MR_TERM_PLAIN, a->detail);
	if (a->state != MR_DOCTOR_OK) {
		printf("%s%s; to fix: ", a->detail[0] ? ": " : "", check->consequence);
		printf("%s", fix_of(check, a));
	}
	putchar('\n');
}

static void print_head(void)
{
	mr_term_put(MR_TERM_BOLD, "STATE    GROUP     CHECK                    ERRNO        WHAT");
	putchar('\n');
}

static void take_check(struct doctor *doctor, const struct mr_doctor_check *check)
{
	try_check(doctor, check);
	if (doctor->answer->state == MR_DOCTOR_MISSING && is_needed(check))
		doctor->well = false;
	if (doctor->common.json)
		json_array_append_new(doctor->list, row_json(check, doctor->answer));
	else
		print_row(check, doctor->answer);
}

/* The rows of probes.def, each as a check. */
static void take_probes(struct doctor *doctor)
{
	size_t n;
	const struct mr_probe_row *probes = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++) {
		mr_auto_free char *name = mr_str_format("%s:%s", probes[i].name, probes[i].program);
		mr_auto_free char *lost = mr_str_format("unknown: %s", probes[i].help);
		mr_auto_free char *fix = mr_str_format("a kernel with %s", probes[i].needs);
		struct mr_doctor_check check = { .group = "probe",
						 .name = name,
						 .probe = mr_doctor_probe_row,
						 .number = i,
						 .need = MR_DOCTOR_SOME,
						 .consequence = lost,
						 .fix = fix };

		take_check(doctor, &check);
	}
}

static void print_document(const struct doctor *doctor)
{
	mr_auto_json json_t *document = NULL;
	struct utsname uts;

	if (uname(&uts) < 0)
		memset(&uts, 0, sizeof(uts));
	document = json_pack("{s:s, s:I, s:b, s:O}", "kernel", uts.release, "uid",
			     (json_int_t)geteuid(), "well", doctor->well, "checks", doctor->list);
	mr_cmd_print_json(document);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct doctor *doctor = values;
	int r = mr_doctor_prepare(err);

	(void)words;
	if (r < 0)
		return r;
	doctor->answer = mmap(NULL, sizeof(*doctor->answer), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (doctor->answer == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "memory: %m");
	doctor->well = true;
	doctor->list = json_array();
	if (!doctor->common.json)
		print_head();
	gather();
	for (size_t i = 0; i < N_ELEMENTS(checks); i++)
		take_check(doctor, &checks[i]);
	take_probes(doctor);
	if (doctor->common.json)
		print_document(doctor);
	else
		printf("%s\n", doctor->well
				       ? "all that a run with nothing but defaults needs is here"
				       : "a run with nothing but defaults needs what is missing");
	json_decref(doctor->list);
	return doctor->well ? 0 : 1;
}

const struct mr_cmd mr_cmd_doctor = {
	.name = "doctor",
	.synopsis = "",
	.summary = "Show what this host gives to a sandbox, and how to get the rest",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct doctor),
	.run = run,
};
