/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setup
 */
#include "runtime/backend/qemu_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/spec/spec.h"

static void queue_setup(struct mr_buf *queue, const char *bin_dir)
{
	static const char share[] = "virtiofs";
	mr_auto_json json_t *setup = NULL;
	mr_auto_free char *text = NULL;

	setup = json_pack("{s:s, s:s, s:I}", "share", share, "bin_dir", bin_dir, "time_ns",
			  (json_int_t)mr_clock_ns(MR_CLOCK_REAL));
	mr_assert(setup);
	text = json_dumps(setup, JSON_COMPACT);
	mr_assert(text);
	mr_wire_queue_text(queue, MR_WIRE_SETUP, text);
}

int mr_setup_queue(struct mr_buf *queue, const struct mr_spec *spec, const char *bin_dir,
		   struct mr_error *err)
{
	mr_auto_free char *text = mr_spec_print_canonical(spec);
	unsigned char random[64];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return mr_err(err, MR_E_SYS, errno, "entropy for the guest: %m");
	mr_wire_queue(queue, MR_WIRE_ENTROPY, random, sizeof(random));
	explicit_bzero(random, sizeof(random));
	queue_setup(queue, bin_dir);
	mr_wire_queue_text(queue, MR_WIRE_SPEC, text);
	mr_wire_queue(queue, MR_WIRE_START, NULL, 0);
	return 0;
}
