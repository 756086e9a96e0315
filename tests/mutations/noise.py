"""One step of the noise removed or bent at a time: each must make a test fail."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_STREAMS = ("tests/noise/test_rejection_every_stream.py",)
_DIRECT = ("tests/noise/test_direct_samplers.py",)
_COMPARE = ("tests/exact/test_compare.py",)
_LATTICE = ("tests/noise/test_lattice.py", "tests/noise/test_lattice_fractions.py")
_NORMED = ("tests/noise/test_normed.py",)
_ENTROPY = ("tests/noise/test_entropy.py",)

MUTATIONS = [
    # Rounding of the whole-number bounds
    Mutation(
        "noise/blocks.py", "words = max(1, ceil(upper(highest)))", "words = max(1, floor(lower(highest)))", _STREAMS
    ),
    Mutation(
        "noise/blocks.py",
        "max(0, floor(lower(chances * span.lowest)))",
        "max(0, ceil(upper(chances * span.lowest)))",
        _STREAMS,
    ),
    Mutation(
        "noise/blocks.py", "ceil(upper(chances * span.highest))", "floor(lower(chances * span.highest))", _STREAMS
    ),
    Mutation(
        "noise/blocks.py", "floor(lower(chances * span.lowest))", "floor(lower(chances * span.highest))", _STREAMS
    ),
    Mutation(
        "noise/blocks.py",
        "arm.peak - step.near - (1 << step.bits) + 1",
        "arm.peak - step.near - (1 << step.bits)",
        _STREAMS,
    ),
    # Single draws
    Mutation("noise/rejection.py", "uniform < block.accept_below or", "uniform <= block.accept_below or", _STREAMS),
    Mutation(
        "noise/rejection.py", "if uniform >= block.reject_from:", "if uniform >= block.reject_from - 1:", _STREAMS
    ),
    Mutation(
        "noise/rejection.py",
        "if (uniform + 1) / steps <= chance - margin:",
        "if (uniform + 1) / steps <= chance + margin:",
        _STREAMS,
    ),
    Mutation(
        "noise/rejection.py",
        "if (uniform + 1) / steps <= chance - margin:",
        "if uniform / steps <= chance - margin:",
        _STREAMS,
    ),
    Mutation(
        "noise/rejection.py",
        "if uniform / steps >= chance + margin:",
        "if uniform / steps >= chance - margin:",
        _STREAMS,
    ),
    Mutation(
        "noise/rejection.py",
        "return uniform_is_below(",
        "return uniform / (1 << bits) < float(exactly()) or uniform_is_below(",
        _STREAMS,
    ),
    Mutation(
        "noise/rejection.py",
        "scale = here.scale * (1 << layout.index_bits) / here.tail_words",
        "scale = here.scale * (1 << layout.index_bits) / (here.tail_words + 1)",
        _STREAMS,
    ),
    Mutation(
        "noise/rejection.py",
        "return None",
        "return self._deeper._attempt(source)",
        _STREAMS,
        within="BlockSampler._attempt",
    ),
    # The first draws
    *(
        Mutation("noise/direct_samplers.py", before, after, _DIRECT)
        for before, after in (
            ("ball(-point / self.scale).exp()", "ball(-(point + 1) / self.scale).exp()"),
            ("(self._runs(source) << bits) + point", "(self._runs(source) << bits + 1) + point"),
            ("uniform / (1 << bits) - COARSE.margin", "uniform / (1 << bits) + COARSE.margin"),
            ("(uniform + 1) / (1 << bits) + COARSE.margin", "uniform / (1 << bits) + COARSE.margin"),
            ("if found < most:", "if True:"),
            ("bool(chance >= uniform + 1)", "bool(chance >= uniform)"),
            ("ball(-j * run).exp()", "ball(-(j - 1) * run).exp()"),
            ("return -magnitude or None", "return -magnitude"),
            ("(distance * scale - self.variance) ** 2", "(distance * scale) ** 2"),
            ("(float(distance) - middle) * inverse", "float(distance) * inverse"),
            # in short vectors
            ("ball(-int(points[i]) / self.scale).exp()", "ball(-(int(points[i]) + 1) / self.scale).exp()"),
            ("(runs << bits) + points", "(runs << bits + 1) + points"),
            ("runs.max(initial=0) >> _ROOM_BITS - bits", "0"),
            ("uniform / float(1 << bits) - COARSE.margin", "uniform / float(1 << bits) + COARSE.margin"),
            (
                "(uniform + np.uint64(1)) / float(1 << bits) + COARSE.margin",
                "uniform / float(1 << bits) + COARSE.margin",
            ),
            ("passed == most", "passed > most"),
            ("self._settled(source, int(uniform[i]), bits)", "passed[i]"),
            ("signed[~negative | (signed != 0)]", "signed"),
            ("(distances.astype(np.float64) - middle) * inverse", "distances.astype(np.float64) * inverse"),
            ("self._exactly(int(distances[i]))", "self._exactly(int(distances[i]) + 1)"),
            (
                "(uniform + np.uint64(1)) / steps <= chances - COARSE.margin",
                "(uniform + np.uint64(1)) / steps <= chances + COARSE.margin",
            ),
            (
                "(uniform + np.uint64(1)) / steps <= chances - COARSE.margin",
                "uniform / steps <= chances - COARSE.margin",
            ),
            ("uniform / steps >= chances + COARSE.margin", "uniform / steps >= chances - COARSE.margin"),
            ("partial(exactly, i)", "partial(exactly, 0)"),
            ("missing -= len(found)", "missing = 0"),
        )
    ),
    Mutation("noise/rejection.py", "if source is not self._source:", "if self._source is None:", _DIRECT),
    # Vectors
    *(
        Mutation("noise/rejection.py", before, after, _STREAMS)
        for before, after in (
            ("np.flatnonzero(index >= columns.sure)", "np.flatnonzero(index > columns.sure)"),
            ("m * below >> layout.uniform_bits for", "-(-m * below >> layout.uniform_bits) for"),
            ("sure - (np.cumsum(left) - left)", "sure - np.cumsum(left)"),
            ("sure - (np.cumsum(left) - left)", "left - np.cumsum(left)"),
            ("(passed + (uniform + np.uint64(1)) / steps) / words", "(passed + uniform / steps) / words"),
            ("columns.accept_below.take(blocks)", "columns.accept_below.take(blocks) + 1 / steps"),
            ("low >= columns.reject_from.take(blocks)", "high >= columns.reject_from.take(blocks)"),
            ("high[mine] <= chance - margin", "high[mine] <= chance + margin"),
            ("low[mine] >= chance + margin", "low[mine] >= chance - margin"),
            ("abs(x - block.arm.peak)) - passed", "abs(x - block.arm.peak))"),
            ("np.flatnonzero(decided == 0).tolist()", "np.flatnonzero(decided == 2).tolist()"),
            ("-1 if x is None else 1", "1"),
            ("(offsets & columns.mask.take(blocks))", "(offsets & columns.mask.take(blocks) >> np.uint64(1))"),
            ("words if columns.widest <= spare_bits else", "words if columns.widest <= 64 else"),
            ("masks[0] if len(masks) == 1 else None", "masks[0]"),
            ("np.repeat(self.mask, sure)", "np.repeat(self.mask, sure) >> np.uint64(1)"),
            ("np.repeat(self.start, sure)", "np.repeat(self.start, sure) + 1"),
            ("found[holes] = found[after[:len(holes)]]", "found[holes] = found[after[-len(holes):]]"),
            ("rejected[:np.searchsorted(rejected, wanted)]", "rejected[:np.searchsorted(rejected, wanted) - 1]"),
            ("np.delete(found, rejected)", "found[:wanted]"),
            ("found[list(large)] = list(large.values())", "pass"),
        )
    ),
    # Vectors in a norm
    *(
        Mutation("noise/normed.py", before, after, _NORMED)
        for before, after in (
            ("_MARGIN * (self.dimension + 8) + unknown * 2.0 ** (-bits)", "unknown * 2.0 ** (-bits)"),
            ("unknown = 1 + 2 * rate * cells", "unknown = -1e9 + 2 * rate * cells"),
            ("margin + 2.0 ** (-bits)", "0"),
            ("margin + 2.0 ** (-bits)", "margin"),
            ("np.where(width > 0, exponent, 0.0)", "exponent"),
            ("rate * place * (before + width) + slope", "slope"),
            ("slope * before * before + squares * gone", "squares * gone"),
            ("rest * (cells + width)", "rest * (cells - width)"),
            ("rest * (cells + width)", "(1 - place) * (cells + width)"),
            ("if chance >= uniform + 1:", "if chance >= uniform:"),
            ("if chance <= uniform:", "if chance <= uniform + 1:"),
            ("2 * place + source.bits(1)", "2 * place"),
            ("ball(place).union(ball(place + 1))", "ball(place)"),
            ("- ball(Fraction(1, cell ** 2))", "- ball(Fraction(1, cell ** 3))"),
            ("ball(self._cells.rate) * (cell - 1) ** 2", "ball(self._cells.rate) * cell ** 2"),
            ("2 * Ball.pi() * ball(law.variance)", "Ball.pi() * ball(law.variance)"),
            ("missing = missing[~kept]", "missing = missing[:0]"),
            ("np.where(blocks < 0, ~blocks, blocks)", "abs(blocks)"),
            ("np.where(blocks < 0, wide - inside, inside)", "inside"),
            ("share * (2 * outwards.astype(np.float64) + share)", "share * share"),
            ("int(points[i]) ** 2 - (int(outwards[i]) * int(wide[i])) ** 2", "int(points[i]) ** 2"),
            ("Arm(shape, -1, 0, -1)", "Arm(shape, -1, 1, 0)"),
            ("Arm(shape, -1, 0, -1)", "Arm(shape, -1, 0, 0)"),
            ("2 * parts ** 2) if wide else self._rate", "2 * parts ** 2)"),
            ("2 * parts ** 2) if wide else self._rate", "1 * parts ** 2) if wide else self._rate"),
            (
                "places, lengths = (_gaussian_places(number),",
                "places, lengths = (DiscreteGaussian(number ** 2)._many(9),",
            ),
            ("2 * (ends - radii) - 1", "2 * (ends - radii)"),
            ("Fraction(2 * radius + 1, 2 * cell * length)", "Fraction(2 * radius + 2, 2 * cell * length)"),
            ("math.ceil(self.scale * _WIDE_RATE)", "math.floor(self.scale * _WIDE_RATE)"),
            ("part * bound - 1", "part * bound"),
            ("missing = missing[words[missing] > largest[missing]]", "missing = missing[:0]"),
        )
    ),
    Mutation("noise/radius_cells.py", "ball(self.rate) * (n - 1) ** self.power", "ball(self.rate) * n", _NORMED),
    Mutation("noise/radius_cells.py", "root + 1 if root * (root + 1) >= product else root + 2", "root + 1", _NORMED),
    Mutation("noise/radius_cells.py", "root + 1 if root * (root + 1) >= product else root + 2", "root + 2", _NORMED),
    Mutation("noise/radius_cells.py", "some * self.weight(i) + first", "first", _NORMED),
    # The tie-breaker
    Mutation("exact/compare.py", "if scaled >= prefix + 1:", "if scaled >= prefix:", _COMPARE),
    Mutation("exact/compare.py", "if scaled <= prefix:", "if scaled <= prefix + 1:", _COMPARE),
    # Shapes in double precision
    Mutation("noise/blocks.py", "range(1, 19)", "range(1, 9)", ("tests/noise/test_law_ratios.py",)),
    Mutation("noise/discrete_gaussian.py", "(offset + 2 * near)", "(offset + near)", _STREAMS),
    *(
        Mutation("noise/gumbel.py", before, after, ("tests/noise/test_law_ratios.py",))
        for before, after in (
            ("rise = exp_minus(q * (hazard - later))", "rise = exp_minus(hazard - later)"),
            ("_mean_fall(s * later) / _mean_fall(s * hazard)", "1"),
            ("(_fall(s * (hazard * growth)) / _fall(s * hazard))", "growth"),
            ("chance = exp_minus_any(q * hazard *", "chance = exp_minus_any(hazard *"),
            ("(d * _mean_fall(d) * growth)", "d"),
            ("range(2, 20)", "range(2, 12)"),
            ("else 1 - exp_minus_any(y)", "else 1.0"),
            ("return None", "pass"),
        )
    ),
    *(
        Mutation("noise/blocks.py", before, after, ("tests/noise/test_law_ratios.py",))
        for before, after in (
            ("_INVERSE_FACTORIALS[:8]", "_INVERSE_FACTORIALS[:7]"),
            ("rest, total = (x - n / _PARTS, _FIRST)", "rest, total = (0.0, _FIRST)"),
            ("near -= floor / _PARTS", "near -= floor / (_PARTS + 1)"),
        )
    ),
    # Uniform integers and coins
    Mutation(
        "noise/uniform.py",
        "while (x := source.bits(self._bits)) >= self.bound:",
        "while (x := source.bits(self._bits)) > self.bound:",
        _STREAMS,
    ),
    Mutation("noise/uniform.py", "kept = points[points < self.bound]", "kept = points % self.bound", _STREAMS),
    Mutation("noise/bernoulli.py", "max(0, floor(lower(scaled)))", "max(0, ceil(lower(scaled)))", _STREAMS),
    Mutation(
        "noise/bernoulli.py", "min(1 << bits, ceil(upper(scaled)))", "min(1 << bits, floor(upper(scaled)))", _STREAMS
    ),
    Mutation(
        "noise/bernoulli.py",
        "return int(uniform_is_below(self.chance, prefix, bits, lambda: source.bits(1)))",
        "return 1",
        _STREAMS,
    ),
    Mutation("noise/bernoulli.py", "out[i] = uniform_is_below(", "out[i] = 0 * uniform_is_below(", _STREAMS),
    # The grid
    *(
        Mutation("noise/lattice.py", before, after, _LATTICE)
        for before, after in (
            ("return np.ceil(steps, out=steps)", "return np.floor(steps + 0.5)"),
            ("return np.ceil(steps, out=steps)", "return np.rint(steps)"),
            ("np.floor(steps, out=steps)", "np.add(steps, -0.5, out=steps)"),
            ("whole + (scaled - whole >= 0.5)", "math.floor(scaled + 0.5)"),
            ("_is_small(drawn, _EXACT_IN_DOUBLES)", "True"),
            ("_is_small(steps, math.inf) and", ""),
        )
    ),
    Mutation(
        "noise/lattice.py",
        "math.ceil(self._steps(sensitivity)) + _coordinates(coordinates) - 1",
        "math.floor(self._steps(sensitivity))",
        _LATTICE,
    ),
    Mutation("noise/lattice.py", "return steps + Fraction(", "return steps + 0 * Fraction(", _LATTICE),
    Mutation("noise/lattice.py", "_is_small(left, _INT64_ROOM) and _is_small(right, _INT64_ROOM)", "True", _LATTICE),
    Mutation(
        "noise/lattice.py",
        "int((2 * numerator + denominator) // (2 * denominator))",
        "int(numerator // denominator)",
        _LATTICE,
    ),
    # Randomness
    Mutation(
        "noise/entropy.py",
        "os.register_at_fork(after_in_child=_forget)",
        "os.getpid = lambda: 0",
        ("tests/noise/test_attacks.py",),
    ),
    Mutation("noise/entropy.py", "self._left -= len(part)", "self._left -= 0", _ENTROPY),
    Mutation("noise/entropy.py", "class _Streams(threading.local):", "class _Streams:", _ENTROPY),
    Mutation("noise/entropy.py", ">> 8 * size - count", ">> max(0, 8 * size - count - 1)", _ENTROPY),
    # The margin of double precision
    Mutation("noise/blocks.py", "margin: float = 2.0 ** (-40)", "margin: float = 0.0", _STREAMS),
    Mutation("noise/blocks.py", "top=float(highest / words)", "top=float(highest / words) * (1 - 2.0**-30)", _STREAMS),
    Mutation("noise/rejection.py", " if block.fits_double else None", "", _STREAMS),
]
