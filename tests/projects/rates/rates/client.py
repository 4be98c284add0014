# SPDX-License-Identifier: Apache-2.0
"""The client of the service of rates

Planted: it asks once.  A service that fails for a moment fails the caller.
"""

import json
import urllib.request

URL = "http://rates.test/v1/"


class Unusable(Exception):
    """The service answered something that is no rate."""


def rate_of(currency, timeout=20):
    with urllib.request.urlopen(URL + currency, timeout=timeout) as answer:
        document = json.load(answer)
    return number_of(document)


def number_of(document):
    """The rate in an answer, whatever its version calls it."""
    if not isinstance(document, dict):
        raise Unusable("the answer is no object")
    for name in ("rate", "value", "price"):
        value = document.get(name)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e6:
            return float(value)
    raise Unusable("no rate in the answer")
