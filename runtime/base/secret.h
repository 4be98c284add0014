/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secret: is it what a secret is called?
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* By its words, as snake_case, kebab-case, dotted and camelCase have them: "api_key" and "userPass" are,
 * "keyboard" and "compass" are not; and by mr_secret_is_in(). */
bool mr_secret_is_name(const char *name);
/* Does the text (size bytes) hold, in whatever way it was put together, a word that means nothing else:
 * password, token, credential and the like? */
bool mr_secret_is_in(const char *text, size_t size);
