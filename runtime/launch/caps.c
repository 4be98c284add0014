/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities: none
 *
 * Five sets are emptied, in the order in which each step still has the right to
 * happen: ambient (needs none), bounding and securebits (need CAP_SETPCAP), then
 * permitted, effective and inheritable in one call.  Raw system calls, because
 * libcap allocates and this runs between clone and exec.
 *
 * The securebits close the two doors that no_new_privs leaves to a process that
 * is uid 0 inside a user namespace: exec as root granting capabilities, and a
 * change of uid granting them.
 */
#include "runtime/launch/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"

#define CAP_LIMIT 64 /* bits of the kernel's set */
#define LOCKED_BITS                                                                              \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int clear_ambient(struct mr_error *err)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "clear ambient capabilities: %m");
	return 0;
}

/* Capabilities that this kernel does not have answer EINVAL. */
static int drop_bounding(struct mr_error *err)
{
	for (unsigned int cap = 0; cap < CAP_LIMIT; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		/* Without CAP_SETPCAP even what is gone already, or was never there, is refused. */
		if (errno == EINVAL || prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0)
			return 0;
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0)
			return mr_err(err, MR_E_SYS, EPERM,
				      "drop capability %u from the bounding set: %m", cap);
	}
	return 0;
}

/* Asked for only where not yet so: without CAP_SETPCAP even an equal value is refused. */
static int lock_securebits(struct mr_error *err)
{
	int now = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

	if (now < 0)
		return mr_err(err, MR_E_SYS, errno, "read securebits: %m");
	if ((now & (LOCKED_BITS | SECBIT_KEEP_CAPS)) == LOCKED_BITS)
		return 0;
	if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "lock securebits: %m");
	return 0;
}

static int clear_sets(struct mr_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { .effective = 0 } };

	if (syscall(SYS_capset, &header, none) < 0)
		return mr_err(err, MR_E_SYS, errno, "drop all capabilities: %m");
	return 0;
}

int mr_caps_drop_all(struct mr_error *err)
{
	static int (*const steps[])(struct mr_error *) = {
		clear_ambient,
		drop_bounding,
		lock_securebits,
		clear_sets,
	};

	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		int r = steps[i](err);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * What follows "name:" and white space at the beginning of a line, NULL if no line has it.  A
 * process name cannot make one: the kernel prints a newline in it as "\n".
 */
static const char *find_value(const char *status, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, "\t ");
	}
	return NULL;
}

static int digit_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* The whole rest of the line must be 1 to 16 digits of the base. */
static bool parse_number(const char *text, int base, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; digit_value(text[n]) >= 0; n++) {
		if (n == 16 || digit_value(text[n]) >= base)
			return false;
		value = value * (uint64_t)base + (uint64_t)digit_value(text[n]);
	}
	if (n == 0 || (text[n] != '\n' && text[n] != '\0'))
		return false;
	*ret = value;
	return true;
}

static int parse_field(const char *status, const char *name, int base, uint64_t *ret,
		       struct mr_error *err)
{
	const char *value = find_value(status, name);

	if (!value)
		return mr_err(err, MR_E_PROTO, EBADMSG, "no %s in /proc/PID/status", name);
	if (!parse_number(value, base, ret))
		return mr_err(err, MR_E_PROTO, EBADMSG, "%s in /proc/PID/status is not a number",
			      name);
	return 0;
}

int mr_caps_parse_status(const char *status, struct mr_caps_shown *ret, struct mr_error *err)
{
	struct mr_caps_shown shown;
	uint64_t no_new_privs, seccomp;
	const struct {
		const char *name;
		int base;
		uint64_t *value;
	} fields[] = {
		{ "CapInh", 16, &shown.inheritable }, { "CapPrm", 16, &shown.permitted },
		{ "CapEff", 16, &shown.effective },   { "CapBnd", 16, &shown.bounding },
		{ "CapAmb", 16, &shown.ambient },     { "NoNewPrivs", 10, &no_new_privs },
		{ "Seccomp", 10, &seccomp },
	};

	for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
		int r = parse_field(status, fields[i].name, fields[i].base, fields[i].value, err);

		if (r < 0)
			return r;
	}
	shown.no_new_privs = (unsigned int)no_new_privs;
	shown.seccomp = (unsigned int)seccomp;
	*ret = shown;
	return 0;
}
