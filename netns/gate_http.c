/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: one HTTP request after the other
 *
 * Heads are judged by the reader of first bytes, so that a later request is held to what the first is;
 * then the strict reader of the stub counts them and their bodies.
 */
#include "netns/gate_http.h"

static enum mr_gate_frame feed_head(struct mr_gate_http *h, const uint8_t *bytes, size_t n,
				    size_t *ret_used, enum mr_sniff *ret_kind,
				    char ret_name[MR_RULE_NAME_MAX + 1])
{
	size_t none;

	*ret_kind = mr_sniff(bytes, n, ret_name);
	if (*ret_kind == MR_SNIFF_MORE)
		return MR_GATE_FRAME_MORE;
	if (*ret_kind != MR_SNIFF_HTTP)
		return MR_GATE_FRAME_BAD;
	mr_http_reset(&h->http);
	h->http.relays = true;
	if (mr_http_feed(&h->http, (const char *)bytes, n, ret_used) != MR_HTTP_HEAD) {
		*ret_used = 0;
		*ret_kind = MR_SNIFF_HTTP_MALFORMED;
		return MR_GATE_FRAME_BAD;
	}
	h->in_body = mr_http_feed(&h->http, "", 0, &none) != MR_HTTP_DONE;
	h->later = true;
	return MR_GATE_FRAME_HEAD;
}

enum mr_gate_frame mr_gate_http_feed(struct mr_gate_http *h, const uint8_t *bytes, size_t n,
				     size_t *ret_used, enum mr_sniff *ret_kind,
				     char ret_name[MR_RULE_NAME_MAX + 1])
{
	enum mr_http_event event;

	*ret_used = 0;
	ret_name[0] = '\0';
	if (!h->in_body)
		return feed_head(h, bytes, n, ret_used, ret_kind, ret_name);
	event = mr_http_feed(&h->http, (const char *)bytes, n, ret_used);
	h->in_body = event == MR_HTTP_MORE;
	if (event != MR_HTTP_BAD)
		return MR_GATE_FRAME_BODY;
	*ret_used = 0;
	*ret_kind = MR_SNIFF_HTTP_MALFORMED;
	return MR_GATE_FRAME_BAD;
}
