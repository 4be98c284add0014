/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: text to numbers and back
 *
 * One grammar each, the same for flags, documents and presets.  No sign, no
 * exponent, nothing left over, no locale; spaces around the text are ignored,
 * except by count and id.  Every parser returns 0 or -EINVAL with MR_E_USAGE and
 * a message of the form
 *
 *   "12x" is not a size: unknown unit "x"; accepted: ...
 *
 * A result is at most INT64_MAX.  Fractions are scaled in 128 bits, then cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

/* Bytes: number [b|k|kb|ki|kib|m...|g...|t...], powers of 1024, any case; "512Mi", "1.5g". */
int mr_units_parse_size(const char *text, uint64_t *ret_bytes, struct mr_error *err);
/* Milliseconds: number [ms|s|m|h|d|w]; a bare number is seconds or milliseconds. */
int mr_units_parse_timespan(const char *text, bool bare_seconds, uint64_t *ret_ms,
			    struct mr_error *err);
/* Bits per second: number [kbps|mbps|gbps|kbit|mbit|gbit], powers of 1000; 1 to 10 Gbit/s. */
int mr_units_parse_bandwidth(const char *text, uint64_t *ret_bits, struct mr_error *err);
/* 1 true t yes y on / 0 false f no n off, any case. */
int mr_units_parse_flag(const char *text, bool *ret, struct mr_error *err);
/* Decimal digits and nothing else. */
int mr_units_parse_count(const char *text, uint64_t *ret, struct mr_error *err);
/* Decimal number in thousandths: "0.5" is 500; digits beyond the third are cut. */
int mr_units_parse_milli(const char *text, uint64_t *ret, struct mr_error *err);
/* Decimal number, '%' optional, 0 to 100, in millionths of the whole: "1%" is 10000. */
int mr_units_parse_percent(const char *text, uint64_t *ret_ppm, struct mr_error *err);
/* User or group id: digits only, 0 to 4294967294 (the last one means "none" to the kernel). */
int mr_units_parse_id(const char *text, uint64_t *ret, struct mr_error *err);

/* Printers return buf, which holds MR_UNITS_SIZE bytes.  The exact ones are read back by the
 * parsers; the human ones have three significant digits. */
#define MR_UNITS_SIZE 32
const char *mr_units_print_size(char *buf, uint64_t bytes); /* "512Mi", "1000" */
const char *mr_units_print_timespan(char *buf, uint64_t ms); /* "30s", "1500ms" */
const char *mr_units_print_milli(char *buf, uint64_t thousandths); /* "0.5", "2" */
const char *mr_units_print_percent(char *buf, uint64_t ppm); /* "5", "0.05", without the sign */
const char *mr_units_print_bandwidth(char *buf, uint64_t bits); /* "1mbit", "1500" */
const char *mr_units_human_size(char *buf, uint64_t bytes); /* "1.46 GiB" */
const char *mr_units_human_time(char *buf, uint64_t ns); /* "850 us", "1.25 s", "2 min 5 s" */
