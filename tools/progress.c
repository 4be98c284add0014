/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress
 *
 * A carriage return and spaces are all it takes, so NO_COLOR has nothing to forbid and any
 * terminal but a dumb one can show it.
 */
#include "tools/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/patience.h"
#include "runtime/base/units.h"

void mr_progress_begin(struct mr_progress *progress, const char *what)
{
	const char *term = getenv("TERM");
	uint64_t now = mr_now_ns();

	*progress = (struct mr_progress){ .what = what, .begin_ns = now };
	if (isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0)
		progress->next_ns = now + MR_PATIENCE_NS(PROGRESS_FIRST);
}

void mr_progress_begin_at(struct mr_progress *progress, const char *what, uint64_t done)
{
	mr_progress_begin(progress, what);
	progress->before = done;
	progress->rate = true;
}

/* ", 12.5 a second, 40 s left" */
static void add_rate(const struct mr_progress *progress, uint64_t now, uint64_t done,
		     uint64_t total, char *buf, size_t size)
{
	const double seconds = (double)(now - progress->begin_ns) / 1e9;
	const double n = (double)(done - progress->before);
	char left[MR_UNITS_SIZE];

	buf[0] = '\0';
	if (!progress->rate || done <= progress->before || done > total)
		return;
	mr_units_human_time(left, (uint64_t)((double)(total - done) * seconds / n * 1e9));
	snprintf(buf, size, ", %.3g a second, %s left", n / seconds, left);
}

void mr_progress_tell(struct mr_progress *progress, uint64_t done, uint64_t total)
{
	char line[160], rate[80];
	uint64_t now;
	int n;

	if (!progress->next_ns)
		return;
	now = mr_now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + MR_PATIENCE_NS(PROGRESS_EACH);
	add_rate(progress, now, done, total, rate, sizeof(rate));
	if (total)
		n = snprintf(line, sizeof(line), "%.60s: %ju of %ju (%ju %%)%s", progress->what,
			     (uintmax_t)done, (uintmax_t)total,
			     (uintmax_t)(done >= total ? 100 : done * 100 / total), rate);
	else
		n = snprintf(line, sizeof(line), "%.60s: %ju", progress->what, (uintmax_t)done);
	fprintf(stderr, "\r%-*s", progress->shown, line);
	progress->shown = n > progress->shown ? n : progress->shown;
}

void mr_progress_end(struct mr_progress *progress)
{
	if (progress->shown)
		fprintf(stderr, "\r%*s\r", progress->shown, "");
	*progress = (struct mr_progress){ .what = NULL };
}
