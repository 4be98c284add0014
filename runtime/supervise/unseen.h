/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unseen: what the sandbox refuses without a record
 *
 * No way to watch a call is free, and the kernel tells of some refusals to nobody.  A count of
 * denials is worth something only beside what it leaves out.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_spec;

/* What could not be seen in one run. */
struct mr_unseen_part {
	const char *what;
	const char *why; /* NULL: it was seen, or there was none */
};

/* Put "unseen": [{layer, what, why}] into denials (as of mr_denials_to_json), and null for the
 * layers in its "by_layer" of which a run of this spec records nothing.  parts: of the network. */
void mr_unseen_tell(struct json_t *denials, const struct mr_spec *spec,
		    const struct mr_unseen_part *parts, size_t n_parts);
