/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes: FAILURE_MODES in all the forms it is written in
 *
 * A text, texts with commas, lists of them in lists: flattened into one list of
 * names, each once, without what stands for none.
 */
#pragma once

#include <stdbool.h>

struct json_t;

/* Add those of a value to an array of names. */
void mr_modes_add(struct json_t *modes, struct json_t *value);
/* As a preset has them, new reference: a text if there is one, else a list. */
struct json_t *mr_modes_json(struct json_t *modes);
bool mr_modes_has(const struct json_t *preset, const char *mode);
