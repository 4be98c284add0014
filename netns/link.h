/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of the calling task's network namespace
 */
#pragma once

struct mr_error;

/* Set a link up. Needs CAP_NET_ADMIN over the namespace. */
int mr_link_up(const char *name, struct mr_error *err);
