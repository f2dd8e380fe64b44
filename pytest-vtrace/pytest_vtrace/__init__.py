# SPDX-License-Identifier: MIT
"""Limits on the GPU memory of tests, and on what they leave behind (see README.md)."""
