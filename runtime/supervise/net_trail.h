/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Net trail: names that a run asked for and its TCP connections, as far as there is room
 *
 * What is kept is what came first; what is left out is counted.
 */
#pragma once

#include <stdint.h>

struct json_t;
struct mr_event;

#define MR_NET_TRAIL_NAMES_MAX 512
#define MR_NET_TRAIL_CONNECTIONS_MAX 512

struct mr_net_trail;

struct mr_net_trail *mr_net_trail_new(void);
struct mr_net_trail *mr_net_trail_free(struct mr_net_trail *trail);
/* Take an event of type dns or tcp; start_ns: when its process began, 0: not known. */
void mr_net_trail_add(struct mr_net_trail *trail, const struct mr_event *event, uint64_t start_ns);

/* Lists with members called as the columns of the store are, in the order they came; new
 * references. */
struct json_t *mr_net_trail_names(const struct mr_net_trail *trail);
struct json_t *mr_net_trail_connections(const struct mr_net_trail *trail);
/* An event of type dns or tcp as a row for followers (follow.h); new reference. */
struct json_t *mr_net_trail_show(const struct mr_event *event, uint64_t start_ns);
/* All that is kept as such rows, a connection being one; array, new reference. */
struct json_t *mr_net_trail_rows(const struct mr_net_trail *trail);
uint64_t mr_net_trail_names_left_out(const struct mr_net_trail *trail);
uint64_t mr_net_trail_connections_left_out(const struct mr_net_trail *trail);
