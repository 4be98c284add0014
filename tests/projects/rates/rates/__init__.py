# SPDX-License-Identifier: Apache-2.0
"""Prices of orders in another currency, by the rate of an HTTP service"""
