"""Laplace, Gaussian, staircase noise and histograms, as the contract suite sees them."""

from __future__ import annotations

from tests.contract.mechanism_case import Case

__all__ = ["CASES"]

CASES: list[Case] = []
