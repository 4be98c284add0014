/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in Python that are part of ours: extract.py and driver.py as texts
 */
#pragma once

extern const char mr_section_extract_py[], mr_section_driver_py[];
