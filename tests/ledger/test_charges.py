"""What is charged, and what is refused: exact sums, one answer per key, nothing spent by a refusal."""

import math
import random
import string
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import AdjacencyMismatch, LedgerError, NotANumberError, OverBudget, ParameterError
from dither.events import Composed, Event, GaussianNoise, LaplaceNoise, Repeated, Stated, from_json
from dither.ledger import Ledger
from dither.ledger.budget import check_cost, read_amounts, read_budget
from dither.ledger.entry import canonical, parsed
from dither.pairs.finite import finite
from tests.ledger.faults import quick_folder
from tests.oracle.accounts import PlainAccount

EVENT = Stated("PureDP", (Fraction(0),))  # costs nothing, so that any cost may be stated
PHASES = [phase for phase in Phase if phase is not Phase.explain]  # it traces every line
FIGURES = st.fractions(0, Fraction(1, 2), max_denominator=60) | st.sampled_from([Fraction(1, 10), Fraction(0)])


@pytest.fixture
def visits(folder: Path) -> Iterator[Ledger]:
    """A ledger with ε = 1 for visits."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1))
    yield ledger
    ledger.close()


class Charges(RuleBasedStateMachine):
    """Two accounts in one ledger, beside two that are kept by hand."""

    ledger: Ledger
    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.closing = ExitStack()
        self.path = self.closing.enter_context(quick_folder()) / "test.ledger"
        self.plain: dict[str, PlainAccount] = {}
        self.keys: dict[tuple[str, str], tuple[tuple[Fraction, ...], bytes | None]] = {}
        self.anchors = [f"0:{'0' * 64}"]

    @initialize(epsilon=st.fractions(Fraction(1, 10), 2, max_denominator=30), delta=st.fractions(0, 1))
    def open(self, epsilon: Fraction, delta: Fraction) -> None:
        self.ledger = Ledger(self.path)
        self.ledger.open_account("approx", dp.ApproxDP(epsilon, delta / 1000))
        self.ledger.open_account("zcdp", dp.ZCDP(epsilon))
        self.plain = {"approx": PlainAccount((epsilon, delta / 1000)), "zcdp": PlainAccount((epsilon,))}

    @rule(account=st.sampled_from(["approx", "zcdp"]), figures=st.tuples(FIGURES, FIGURES), key=st.sampled_from("abcd"))
    def charge_with_a_key(self, account: str, figures: tuple[Fraction, Fraction], key: str) -> None:
        cost = self._cost(account, figures)
        known = self.keys.get((account, key))
        if known is not None and known[0] != cost:
            with pytest.raises(LedgerError, match="another question"):
                self._charge(account, cost, key)
        elif known is not None:
            assert self._charge(account, cost, key).answer == known[1]
        elif self.plain[account].can_pay(cost):
            assert self._charge(account, cost, key).answer is None
            self.plain[account].costs.append(cost)
            self.keys[account, key] = cost, None
        else:
            with pytest.raises(OverBudget):
                self._charge(account, cost, key)

    @rule(account=st.sampled_from(["approx", "zcdp"]), figures=st.tuples(FIGURES, FIGURES))
    def charge(self, account: str, figures: tuple[Fraction, Fraction]) -> None:
        cost = self._cost(account, figures)
        if self.plain[account].can_pay(cost):
            self._charge(account, cost)
            self.plain[account].costs.append(cost)
        else:
            with pytest.raises(OverBudget, match="left"):
                self._charge(account, cost)

    @rule(answer=st.binary(max_size=20), index=st.integers(0, 7))
    def keep(self, answer: bytes, index: int) -> None:
        if self.keys:
            (account, key), (cost, before) = list(self.keys.items())[index % len(self.keys)]
            said = self.ledger.keep(self._charge(account, cost, key), answer)
            assert said == (answer if before is None else before)
            self.keys[account, key] = cost, said

    @rule()
    def open_again(self) -> None:
        self.ledger.close()
        self.ledger = Ledger(self.path)

    @rule()
    def keep_the_anchor(self) -> None:
        self.anchors.append(self.ledger.anchor())

    def _cost(self, account: str, figures: tuple[Fraction, Fraction]) -> tuple[Fraction, ...]:
        return figures[:1] if account == "zcdp" else (figures[0], figures[1] / 1000)

    def _charge(self, account: str, cost: tuple[Fraction, ...], key: str | None = None) -> Any:
        stated = dp.ZCDP(*cost) if account == "zcdp" else dp.ApproxDP(*cost)
        return self.ledger.charge(account, EVENT, stated, "how many?", key=key)

    @invariant()
    def agrees(self) -> None:
        Charges.steps += 1
        for name, plain in self.plain.items():
            account = self.ledger.account(name)
            assert tuple(account.spent.values()) == plain.spent
            assert tuple(account.remaining.values()) == tuple(
                cap - spent for cap, spent in zip(plain.cap, plain.spent, strict=True)
            )
            assert account.charges == len(plain.costs)
        if self.plain:
            self.ledger.verify(self.anchors[-1])

    def teardown(self) -> None:
        if self.plain:
            for anchor in self.anchors:
                self.ledger.verify(anchor)
            self.ledger.close()
        self.closing.close()


def test_charges_agree_with_an_account_kept_by_hand() -> None:
    run_state_machine_as_test(Charges, settings=settings(max_examples=12, stateful_step_count=12, phases=PHASES))


@pytest.mark.nightly
def test_many_charges_agree_with_an_account_kept_by_hand(record_property: Callable[[str, object], None]) -> None:
    before = Charges.steps
    run_state_machine_as_test(Charges, settings=settings(max_examples=1000, stateful_step_count=50, phases=PHASES))
    record_property("ledger steps", Charges.steps - before)


def test_d48_three_tenths_fit_into_0_3(folder: Path) -> None:
    """As floats, 0.1 + 0.1 + 0.1 > 0.3."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(0.3))
    for _ in range(3):
        ledger.charge("visits", EVENT, dp.PureDP(0.1), "how many?")
    assert ledger.account("visits").remaining == {"epsilon": 0, "delta": 0}
    with pytest.raises(OverBudget, match=r"costs epsilon 1e-300 .* only 0 .* of 0\.3"):
        ledger.charge("visits", EVENT, dp.PureDP("1e-300"), "how many?")
    ledger.close()


@pytest.mark.parametrize("epsilon", [math.nan, -5, math.inf, -math.inf, "1e999", "nan", True, None, "five"], ids=repr)
def test_d47_what_is_no_cost_cannot_be_stated(visits: Ledger, epsilon: Any) -> None:
    """Costs are exact numbers before they reach the ledger; nothing is spent."""
    with pytest.raises((NotANumberError, ParameterError)):
        visits.charge("visits", EVENT, dp.PureDP(epsilon), "how many?")
    assert visits.account("visits").charges == 0


@pytest.mark.parametrize(
    "cost",
    [dp.GaussianDP(1), dp.TVStable("0.1"), dp.ZCDP("0.1"), 0.5, None, "1"],
    ids=lambda cost: type(cost).__name__,
)
def test_d47_what_is_no_budget_cannot_be_charged(visits: Ledger, cost: Any) -> None:
    with pytest.raises((ParameterError, AttributeError)):
        visits.charge("visits", EVENT, cost, "how many?")
    assert visits.account("visits").charges == 0


@pytest.mark.parametrize(
    "event", [finite(["1/2", "1/2"], ["1/3", "2/3"]), dp.Laplace(sensitivity=1, epsilon=1), None, 1], ids=type
)
def test_what_is_no_event_cannot_be_charged(visits: Ledger, event: Any) -> None:
    with pytest.raises(ParameterError, match=r"event must be what a mechanism did.*dp\.FiniteMechanism"):
        visits.charge("visits", event, dp.PureDP("0.9"), "how many?")
    assert visits.account("visits").charges == 0
    mine = dp.FiniteMechanism({0: ["1/2", "1/2"], 1: ["1/3", "2/3"]})
    visits.charge("visits", mine.event, dp.PureDP("0.9"), "how many?")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":0.5}',
        "[1]",
        "1",
        "",
        "{",
        '{"a":' * 100_000,
        '{"a":-Infinity}',
    ],
    ids=range(10),
)
def test_d47_json_with_two_meanings_is_refused(text: str) -> None:
    with pytest.raises(LedgerError):
        parsed(text)
    with pytest.raises(ParameterError):
        from_json(text)


@pytest.mark.parametrize(
    "figures",
    [{}, None, [], {"epsilon": "1"}, {"epsilon": "1", "delta": 0}, {"rho": "nan"}, {"rho": "-1"}, {"rho": "1e3"},
     {"rho": "2/4"}, {"rho": "1/0"}, {"rho": " 1"}, {"rho": "9" * 4000}, {"rho": "1/" + "9" * 1200}, {"rho": "１"}],
    ids=range(14),
)  # fmt: skip
def test_figures_are_read_as_they_are_written_only(figures: Any) -> None:
    with pytest.raises((LedgerError, ParameterError)):
        read_amounts(figures)


@given(
    st.dictionaries(st.text(max_size=3), st.text() | st.integers() | st.none() | st.lists(st.booleans(), max_size=2))
)
def test_bodies_are_read_as_they_are_written(value: dict[str, Any]) -> None:
    assert parsed(canonical(value)) == value
    assert canonical(parsed(canonical(value))) == canonical(value)


def test_budgets_that_are_not_budgets_are_not_read() -> None:
    with pytest.raises(LedgerError, match="states no budget"):
        read_budget('{"dither_event":1,"kind":"LaplaceNoise","scale":"1"}')


def test_a_sum_that_could_not_be_read_is_not_written(folder: Path) -> None:
    """Different denominators make sums grow. Nothing is charged, and decimals still are."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1))
    costs = [Fraction(1, 3**200 + 2 * number) for number in range(1, 40)]

    def charge_all() -> None:
        for cost in costs:
            ledger.charge("visits", EVENT, dp.PureDP(cost), "how many?")

    with pytest.raises(ParameterError, match="denominator of more than 1000 digits"):
        charge_all()
    charged = ledger.account("visits").charges
    assert charged > 0
    ledger.charge("visits", EVENT, dp.PureDP(costs[0]), "the same denominator")
    assert ledger.verify() == charged + 2
    ledger.close()


def test_d53_one_key_one_charge_one_answer(ledger: Ledger) -> None:
    ledger.open_account("visits", dp.PureDP(1))
    first = ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?", key="k")
    assert first.answer is None
    assert ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?", key="k") == first, (
        "asked again before it was said"
    )
    assert ledger.keep(first, b"seven") == b"seven"
    assert ledger.keep(first, b"eight") == b"seven"
    assert ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?", key="k").answer == b"seven"
    others: list[tuple[Any, Any, str]] = [
        (EVENT, dp.PureDP("0.5"), "how old?"),
        (EVENT, dp.PureDP("0.4"), "how many?"),
        (LaplaceNoise(Fraction(3)), dp.PureDP("0.5"), "how many?"),
    ]
    for event, cost, question in others:
        with pytest.raises(LedgerError, match="another question"):
            ledger.charge("visits", event, cost, question, key="k")
    assert ledger.account("visits").charges == 1
    ledger.open_account("sales", dp.PureDP(1))
    assert ledger.charge("sales", EVENT, dp.PureDP("0.5"), "how old?", key="k").answer is None, (
        "keys belong to accounts"
    )
    assert ledger.verify(ledger.anchor()) == 5


def test_a_kept_answer_needs_its_charge(visits: Ledger, folder: Path) -> None:
    other = Ledger(folder / "other.ledger")
    other.open_account("visits", dp.PureDP(1))
    charge = other.charge("visits", EVENT, dp.PureDP(1), "how many?", key="k")
    with pytest.raises(LedgerError, match="not in this ledger"):
        visits.keep(charge, b"7")
    other.close()
    assert visits.verify() == 1


def test_a_budget_is_given_once(ledger: Ledger) -> None:
    ledger.open_account("visits", dp.ApproxDP(1, 1e-6, adjacency=ADD_REMOVE))
    ledger.open_account("visits", dp.ApproxDP(1, "1e-6", adjacency=ADD_REMOVE))
    for other in (dp.PureDP(1), dp.ApproxDP(2, 1e-6, adjacency=ADD_REMOVE), dp.ApproxDP(1, 1e-6), dp.ZCDP(1)):
        with pytest.raises(LedgerError, match="a budget is given once"):
            ledger.open_account("visits", other)
    assert ledger.verify() == 1
    with pytest.raises(ParameterError, match="greater than 0"):
        ledger.open_account("nothing", dp.PureDP(0))
    with pytest.raises(LedgerError, match="no budget in this ledger"):
        ledger.account("nothing")
    with pytest.raises(LedgerError, match="no budget in this ledger"):
        ledger.charge("nothing", EVENT, dp.PureDP(1), "how many?")


def test_event_cost_and_budget_protect_the_same(folder: Path) -> None:
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1, adjacency=ADD_REMOVE))
    right, wrong = dp.PureDP("0.1", adjacency=ADD_REMOVE), dp.PureDP("0.1", adjacency=REPLACE_ONE)
    noise = [LaplaceNoise(Fraction(10), adjacency=each) for each in (ADD_REMOVE, REPLACE_ONE, None)]
    for event, cost in ((noise[1], right), (noise[2], right), (noise[1], wrong), (noise[0], wrong)):
        with pytest.raises(AdjacencyMismatch):
            ledger.charge("visits", event, cost, "how many?")
    ledger.charge("visits", noise[0], right, "how many?")
    assert ledger.account("visits").charges == 1
    ledger.close()


@given(scale=st.fractions(1, 100), times=st.integers(1, 5), less=st.integers(1, 100))
@settings(max_examples=20)
def test_d55_a_cost_below_that_of_the_event_is_refused(scale: Fraction, times: int, less: int) -> None:
    """By hand: Laplace noise costs Δ/scale and Gaussian noise Δ²/(2σ²), each as often as it is drawn."""
    little = Fraction(1, 10**less)
    laplace, gaussian = Repeated(LaplaceNoise(scale), times), Composed((GaussianNoise(variance=scale),) * times)
    epsilon, rho = times / scale, times / (2 * scale)
    cases: list[tuple[Event, Any, Fraction]] = [(laplace, dp.PureDP, epsilon), (gaussian, dp.ZCDP, rho)]
    for event, stated, amount in cases:
        check_cost(event, stated(amount))
        if amount > little:
            with pytest.raises(ParameterError, match="the event costs more"):
                check_cost(event, stated(amount - little))


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(4), Fraction(50)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(6)], ids=str)
def test_d55_a_delta_below_that_of_the_event_is_refused(folder: Path, sigma: Fraction, epsilon: Fraction) -> None:
    """Gaussian noise of no finite ε: δ = Φ(1/2σ − εσ) − e^ε Φ(−1/2σ − εσ), within a part in 10^6 of it."""
    first, second = (NormalDist().cdf(float(sign / (2 * sigma) - epsilon * sigma)) for sign in (1, -1))
    delta = Fraction(first - math.exp(epsilon) * second) if first > 1e-250 else Fraction(0)
    event = GaussianNoise(variance=sigma**2)
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.ApproxDP(100, "0.9"))
    for cost in (dp.PureDP(epsilon), dp.PureDP(50), dp.ApproxDP(epsilon, delta * Fraction(999_999, 1_000_000))):
        with pytest.raises(ParameterError, match="the event costs more"):
            ledger.charge("visits", event, cost, "how many?")
    assert ledger.account("visits").charges == 0
    if delta:
        ledger.charge("visits", event, dp.ApproxDP(epsilon, delta * Fraction(1_000_001, 1_000_000)), "how many?")
    assert ledger.account("visits").charges == bool(delta)
    ledger.close()


@pytest.mark.parametrize("text", ["\x00", "\ud800", 7, b"x", "x" * 1_000_001, ["x"], math.nan], ids=range(7))
@pytest.mark.parametrize("name", ["account", "question", "by", "key", "description"])
def test_texts_that_cannot_be_written_are_refused(visits: Ledger, name: str, text: Any) -> None:
    call: Any = visits.open_account if name == "description" else visits.charge
    values = {"account": "visits", "event": EVENT, "cost": dp.PureDP(1), "question": "how many?"}
    if name == "description":
        values = {"account": "visits", "budget": dp.PureDP(1)}
    with pytest.raises(ParameterError, match=f"{name} must be a Unicode text"):
        call(**{**values, name: text})
    assert visits.account("visits").charges == 0


def test_names_fit_into_the_index_of_every_place(location: str) -> None:
    """PostgreSQL could not write longer ones, unless they happen to be compressed."""
    letters = random.Random(1)
    account, key = ("".join(letters.choices(string.ascii_letters, k=length)) for length in (1600, 1000))
    with closing(Ledger(location)) as ledger:
        with pytest.raises(ParameterError, match="account must have at most 1600 bytes in UTF-8, got 1602"):
            ledger.open_account("é" * 801, dp.PureDP(1))
        ledger.open_account(account, dp.PureDP(1))
        with pytest.raises(ParameterError, match="key must have at most 1000 bytes in UTF-8, got 1002"):
            ledger.charge(account, EVENT, dp.PureDP(1), "how many?", key="é" * 501)
        assert ledger.account(account).charges == 0
        ledger.charge(account, EVENT, dp.PureDP(1), "how many?", key=key)
        assert ledger.verify(ledger.anchor()) == 2


def test_names_are_not_empty(visits: Ledger) -> None:
    with pytest.raises(ParameterError, match="account must not be empty"):
        visits.open_account("", dp.PureDP(1))
    with pytest.raises(ParameterError, match="key must not be empty"):
        visits.charge("visits", EVENT, dp.PureDP(1), "how many?", key="")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20))
@settings(max_examples=20)
def test_any_text_comes_back(text: str) -> None:
    with quick_folder() as folder:
        ledger = Ledger(folder / "test.ledger")
        ledger.open_account(text, dp.PureDP(1), text)
        charge = ledger.charge(text, EVENT, dp.PureDP(1), text, key=text, by=text)
        assert ledger.verify() == 2
        assert list(ledger.entries())[1] == charge.entry
        assert charge.entry.content["question"] == charge.entry.content["by"] == charge.entry.account == text
        ledger.close()
