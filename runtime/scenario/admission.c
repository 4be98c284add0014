/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission
 */
#include "runtime/scenario/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/spec.h"

static int read_available(uint64_t *ret, struct mr_error *err)
{
	char buf[4096], digits[24] = "";
	const char *line;
	ssize_t n = mr_read_file_at(AT_FDCWD, "/proc/meminfo", buf, sizeof(buf));
	size_t len;
	int r;

	line = n < 0 ? NULL : strstr(buf, "MemAvailable:");
	if (!line)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : ENODATA,
			      "/proc/meminfo: no MemAvailable; name the cap with --max-memory");
	line += strlen("MemAvailable:");
	line += strspn(line, " ");
	len = strspn(line, "0123456789");
	memcpy(digits, line, len < sizeof(digits) ? len : sizeof(digits) - 1);
	r = mr_units_parse_count(digits, ret, err);
	*ret *= 1024;
	return r;
}

static int read_pid_max(uint64_t *ret, struct mr_error *err)
{
	char buf[32];
	ssize_t n = mr_read_file_at(AT_FDCWD, "/proc/sys/kernel/pid_max", buf, sizeof(buf));

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "/proc/sys/kernel/pid_max: %m");
	buf[strcspn(buf, "\n")] = '\0';
	return mr_units_parse_count(buf, ret, err);
}

int mr_admission_host_cap(size_t jobs, struct mr_load *ret, struct mr_error *err)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t memory = 0, pids = 0;
	int r = read_available(&memory, err);

	if (r == 0)
		r = read_pid_max(&pids, err);
	if (r < 0)
		return r;
	ret->cpus = 1000 * ((uint64_t)(online > 0 ? online : 1) > jobs ? (uint64_t)online : jobs);
	ret->memory = memory / 5 * 4;
	ret->pids = pids / 2;
	return 0;
}

int mr_admission_load(const json_t *spec, const struct mr_load *cap, struct mr_load *ret,
		      struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(spec, JSON_COMPACT);
	struct mr_spec parsed;
	int r;

	mr_assert(text);
	mr_spec_init(&parsed);
	r = mr_spec_parse_json(&parsed, text, strlen(text), "request", err);
	if (r == 0) {
		ret->cpus = parsed.limits_cpus == MR_UNLIMITED ? 1000 : parsed.limits_cpus;
		ret->memory = parsed.limits_memory_max_bytes == MR_UNLIMITED
				      ? cap->memory
				      : parsed.limits_memory_max_bytes;
		ret->pids =
			parsed.limits_pids_max == MR_UNLIMITED ? cap->pids : parsed.limits_pids_max;
	}
	mr_spec_deinit(&parsed);
	return r;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product = 0;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

struct mr_load mr_admission_times(const struct mr_load *load, uint64_t copies)
{
	return (struct mr_load){ times(load->cpus, copies), times(load->memory, copies),
				 times(load->pids, copies) };
}

uint64_t mr_admission_fit(const struct mr_load *load, const struct mr_load *cap)
{
	const uint64_t memory = load->memory ? cap->memory / load->memory : UINT64_MAX;
	const uint64_t pids = load->pids ? cap->pids / load->pids : UINT64_MAX;
	const uint64_t fit = memory < pids ? memory : pids;

	return fit > 0 ? fit : 1;
}

static bool fits(uint64_t used, uint64_t more, uint64_t cap)
{
	return used <= cap && more <= cap - used;
}

static void raise_peak(uint64_t *peak, uint64_t used)
{
	if (used > *peak)
		*peak = used;
}

bool mr_admission_enter(struct mr_admission *a, const struct mr_load *load)
{
	if (a->n > 0 && (!fits(a->used.cpus, load->cpus, a->cap.cpus) ||
			 !fits(a->used.memory, load->memory, a->cap.memory) ||
			 !fits(a->used.pids, load->pids, a->cap.pids)))
		return false;
	a->n++;
	a->used.cpus += load->cpus;
	a->used.memory += load->memory;
	a->used.pids += load->pids;
	raise_peak(&a->peak.cpus, a->used.cpus);
	raise_peak(&a->peak.memory, a->used.memory);
	raise_peak(&a->peak.pids, a->used.pids);
	return true;
}

void mr_admission_leave(struct mr_admission *a, const struct mr_load *load)
{
	mr_assert(a->n > 0);
	a->n--;
	a->used.cpus -= load->cpus;
	a->used.memory -= load->memory;
	a->used.pids -= load->pids;
}
