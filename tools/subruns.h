/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subruns: a run that a run of ours needs, made by another menace-run process
 */
#pragma once

struct mr_subruns;

extern const struct mr_subruns mr_subruns;
