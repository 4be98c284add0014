/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Term: text on a terminal
 *
 * Names in a store were chosen by programs that nobody trusts.  What a terminal
 * would act on is shown as an escape, whether standard output is a terminal or a
 * pipe that may end at one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum mr_term_style { MR_TERM_PLAIN, MR_TERM_BOLD, MR_TERM_DIM, MR_TERM_RED, MR_TERM_YELLOW };

/* Colours are used when standard output is a terminal, NO_COLOR is unset or empty and TERM is not
 * "dumb". */
bool mr_term_has_colour(void);
/* malloc'd copy of text without anything a terminal acts on: control bytes and what is not UTF-8
 * as \xNN, C1 controls and signs that change the direction of writing as \u{N}; NULL: "-". */
char *mr_term_safe(const char *text);
/* Print text, made safe, in a style. */
void mr_term_put(enum mr_term_style style, const char *text);
/* The same, cut or filled to width columns (a character counts as one). */
void mr_term_cell(enum mr_term_style style, const char *text, int width);
/* "2026-11-28 03:19:46" in UTC from microseconds since 1970. */
const char *mr_term_time(int64_t us, char buf[32]);
