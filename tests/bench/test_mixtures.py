"""The mixtures of `python -m bench accounting --mixtures`: drawn as stated, judged so that each figure can fail."""

import math
from dataclasses import replace

import pytest

from bench import ours_accounting
from bench.accounting_mixtures import COPIES, DELTAS, MOST_KINDS, RATES, SCALES, Outcome, judged, mixtures
from bench.accounting_options import AccountingOptions
from bench.accounting_risk_case import RiskCase
from dither.accounting import Bracket


def test_mixtures_are_drawn_from_their_seed_within_the_stated_ranges() -> None:
    drawn = mixtures(7, 300)
    assert drawn == mixtures(7, 300)
    assert drawn != mixtures(8, 300)
    releases = [release for case in drawn for release in case.releases]
    assert {len(case.releases) for case in drawn} == set(range(1, MOST_KINDS + 1))
    assert {(release.kind, release.sampling_rate < 1) for release in releases} == {
        (kind, is_sampled) for kind in ("Gaussian", "Laplace") for is_sampled in (True, False)
    }
    assert all(SCALES[0] <= release.scale <= SCALES[1] for release in releases)
    assert all(COPIES[0] <= release.times <= COPIES[1] for release in releases)
    assert all(RATES[0] <= release.sampling_rate <= RATES[1] or release.sampling_rate == 1 for release in releases)
    assert all(DELTAS[0] <= case.delta <= DELTAS[1] for case in drawn)


NARROW = Bracket(0.9995, 1.0)
GOOD = Outcome(mixtures(1, 1)[0], 1.0, 4.0, 2.0, bracket=NARROW, answer=1.0, before_release=NARROW)


@pytest.mark.parametrize(
    ("bad", "missed"),
    [
        (GOOD, set()),
        (replace(GOOD, peer=2.9), {0}),
        (replace(GOOD, peer=0.4), {0, 1}),
        (replace(GOOD, bracket=Bracket(0.99, 1.0)), {2}),
        (replace(GOOD, bracket=Bracket(math.nan, 1.0)), {2}),
        (replace(GOOD, answer=0.9994), {3}),
        (replace(GOOD, unreleased=2.1), {4, 5}),
        (replace(GOOD, before_release=Bracket(0.9, 1.0)), {6}),
    ],
)
def test_each_figure_can_be_missed(bad: Outcome, missed: set[int]) -> None:
    verdicts = [row.verdict for row in judged("one", "a peer", [bad])]
    assert {number for number, verdict in enumerate(verdicts) if verdict == "MISSED"} == missed


def test_a_seed_is_fresh_unless_it_is_given() -> None:
    assert AccountingOptions.parsed([]).mixtures == 0
    assert AccountingOptions.parsed(["--mixtures"]).mixtures == 200
    assert AccountingOptions.parsed(["--mixtures", "5", "--seed", "3"]) == AccountingOptions(5, 3)
    assert len({AccountingOptions.parsed(["--mixtures"]).seed for _ in range(4)}) > 1


CASE = RiskCase("advantage", 0.1, None, 10, 1.0, (0.1, 100.0))


def test_noise_for_a_risk_is_judged_by_what_the_other_noise_would_do() -> None:
    sigma = ours_accounting.risk_scale(CASE)
    for peer, is_far in ((sigma, False), (sigma * 1.2, True), (sigma / 1.2, True)):
        lower, upper = ours_accounting.risk_at(CASE, peer)
        assert lower <= upper
        assert (upper < CASE.risk - 1e-3 or lower > CASE.risk + 1e-3) == is_far


def test_works_with_a_limit_run() -> None:
    assert ours_accounting.shuffled_reports() > 0
    assert ours_accounting.certified_gaussians() <= 1
    assert AccountingOptions.parsed(["--risk"]).risk
