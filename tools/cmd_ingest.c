/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace ingest: take in what waits in the spool
 *
 * Every other command does so too before it looks; this one fails when it cannot,
 * and says how many, for a timer.
 */
#include <stdio.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/store/ingest.h"
#include "runtime/store/place.h"
#include "tools/cmd.h"
#include "tools/progress.h"

struct ingest {
	struct mr_cmd_common common;
};

static const struct mr_cmd_row rows[] = { MR_CMD_COMMON_ROWS(ingest) };

static void show_progress(const struct mr_ingest_stats *stats, void *owner)
{
	mr_progress_tell(owner, stats->records + stats->known + stats->aside, 0);
}

static int take_in(const struct mr_place *place, struct mr_ingest_stats *stats,
		   struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	struct mr_progress progress;
	const struct mr_ingest_watch watch = { show_progress, &progress };
	int r = mr_store_open(place, MR_STORE_WRITE, MR_PATIENCE_MS(STORE_BUSY), &store, err);

	if (r < 0)
		return r;
	mr_progress_begin(&progress, "records taken in");
	r = mr_ingest_watched(place, store, &watch, stats, err);
	mr_progress_end(&progress);
	return r;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct ingest *ingest = values;
	struct mr_ingest_stats stats = { 0 };
	mr_auto_json json_t *document = NULL;
	struct mr_place place = { 0 };
	int r = mr_place_find(ingest->common.store, &place, err);

	(void)words;
	if (r == 0)
		r = take_in(&place, &stats, err);
	mr_place_deinit(&place);
	if (r < 0)
		return r;
	document = json_pack("{s:I, s:I, s:I, s:I}", "records", (json_int_t)stats.records, "known",
			     (json_int_t)stats.known, "aside", (json_int_t)stats.aside, "busy",
			     (json_int_t)stats.busy);
	if (ingest->common.json)
		mr_cmd_print_json(document);
	else
		printf("%zu taken in, %zu known already, %zu put aside, %zu files in use\n",
		       stats.records, stats.known, stats.aside, stats.busy);
	return 0;
}

const struct mr_cmd mr_cmd_ingest = {
	.name = "ingest",
	.synopsis = "",
	.summary = "Take in the records that wait in the spool",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct ingest),
	.run = run,
};
