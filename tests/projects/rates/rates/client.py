# SPDX-License-Identifier: Apache-2.0
"""The client of the service of rates

Planted: it asks once.  A service that fails for a moment fails the caller.
"""

import json
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, wait

URL = "http://rates.test/v1/"
AT_ONCE = 8


class Unusable(Exception):
    """The service answered something that is no rate."""


def rates_of(currencies, timeout):
    """The rate of each currency, None of one whose answer is unusable; all are asked for at once.

    Also if one fails: no request is left out because another was faster.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rates = {name: pool.submit(rate_of, name, timeout) for name in currencies}
        wait(rates.values())
    return {name: rate.result() for name, rate in rates.items()}


def rate_of(currency, timeout):
    try:
        return number_of(json.loads(ask(URL + currency, timeout)))
    except (ValueError, RecursionError, Unusable):
        return None


def ask(url, timeout):
    """The answer of the service.  A resolver whose answers are lost is asked again, the service is not."""
    end = time.monotonic() + timeout
    while True:
        try:
            with urllib.request.urlopen(url, timeout=timeout) as answer:
                return answer.read()
        except urllib.error.URLError as error:
            if getattr(error.reason, "errno", None) != socket.EAI_AGAIN or time.monotonic() >= end:
                raise
            time.sleep(0.1)  # one that refuses at once is not kept busy


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
