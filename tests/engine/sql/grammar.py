"""SQL texts from a grammar: valid ones, nearly valid ones, and hostile ones."""

import random

__all__ = ["texts"]

NUMBERS = ("spend", "age", "spend * 2", "age - 18", "ABS(age)", "LEAST(spend, 50)", "age / 2", "EXTRACT(YEAR FROM day)",
           "CASE WHEN age > 40 THEN spend ELSE 0 END", "COALESCE(spend, 0)", "GREATEST(age, 3)", "FLOOR(spend)",
           "NULLIF(age, 7)", "-spend", "CAST(age AS DOUBLE)", "IF(city = 'Nice', 1, 2)", "SQRT(spend)",
           "LN(age + 1)", "EXP(age / 90)", "ROUND(spend / 3, 1)", "LOG(10, spend + 1)", "EXTRACT(QUARTER FROM day)",
           "0.5 - 0.25 + spend")  # fmt: skip
CONDITIONS = ("age >= 18", "city = 'Paris'", "city IN ('Lyon', 'Nice')", "spend BETWEEN 1 AND 50", "age IS NOT NULL",
              "day >= DATE '2023-01-01'", "NOT city = 'Nice'", "spend > age", "TRUE", "EXTRACT(MONTH FROM day) < 7",
              "day < DATE '2024-01-01' + INTERVAL '3' MONTH", "city <> 'x''y; --'", "age = 1e99",
              "city LIKE 'P%s'", "LOWER(TRIM(city)) NOT LIKE '%i%e%'", "LEFT(city, 2) = 'Pa'",
              "EXISTS (SELECT 1 FROM visits w WHERE w.pid = t.pid AND w.age > 50)",
              "pid IN (SELECT pid FROM visits WHERE age < 20)")  # fmt: skip
GROUPS = (
    "city",
    "EXTRACT(YEAR FROM day)",
    "CASE WHEN age < 65 THEN 'young' ELSE 'old' END",
    "EXTRACT(DOW FROM day)",
    "DATE_TRUNC('month', day)",
    "SUBSTRING(city FROM 1 FOR 1)",
)
ODD = ("SLEEP(9)", "(SELECT MAX(age) FROM visits)", "age % 2", "city || 'x'", "ROW_NUMBER() OVER ()", "NULL", "1e999",
       "'\0'", "x'00'", "read_csv('f')", "$1", "?", "@a", "{fn now()}", "ARRAY[1]", "a.b.c.d", "\"", "`", "/*", "--",
       "\u202ecity", "сity", "city COLLATE nocase", "age::int", "INTERVAL '1' DAY", "(1, 2)", "*")  # fmt: skip
WORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT 3", "JOIN visits", "ON", "UNION ALL", "AS",
         "(", ")", ",", ";", "DISTINCT", "OVER ()", "ROLLUP", "GROUPING SETS", "WITH t AS", "AND", "OR", "NOT",
         "LATERAL")  # fmt: skip


def _aggregate(draw: random.Random) -> str:
    value = draw.choice(NUMBERS)
    return draw.choice(
        ["COUNT(*)", f"COUNT({value})", "COUNT(DISTINCT pid)", "COUNT(DISTINCT age)", f"SUM({value})", f"AVG({value})",
         f"STDDEV({value})", f"MIN({value})", f"MAX({value})", f"MEDIAN({value})", f"PERCENTILE_CONT({value}, 0.9)",
         f"COUNT(*) FILTER (WHERE {draw.choice(CONDITIONS)})", f"SUM({value}) / COUNT(*)", f"VARIANCE({value})",
         f"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {value})", f"ROUND(AVG({value}), 2)"]
    )  # fmt: skip


def _source(draw: random.Random) -> tuple[str, str]:
    """FROM, and what stands before SELECT."""
    some = f"SELECT pid, city, spend, age, day FROM visits WHERE {draw.choice(CONDITIONS)}"
    each = "SELECT pid, COUNT(*) AS n, MAX(spend) AS spend, MIN(age) AS age FROM visits GROUP BY pid"
    with_each = "SELECT visits.pid, city, spend, age, day FROM visits JOIN (SELECT pid, COUNT(*) AS n FROM visits "
    return draw.choice(
        [("visits", ""), ("data", ""), ("visits AS v", ""), (f"({some}) AS t", ""), ("t", f"WITH t AS ({some}) "),
         (f"({some} UNION ALL {some}) AS t", ""), ("visits AS t", ""),
         (f"({each}) AS t", ""), (f"({with_each}GROUP BY pid) k ON visits.pid = k.pid WHERE n > 1) AS t", "")]
    )  # fmt: skip


def _valid(draw: random.Random) -> str:
    source, before = _source(draw)
    groups = draw.sample(GROUPS, draw.choice([0, 0, 1, 1, 2]))
    shown = [*groups, *(_aggregate(draw) for _ in range(draw.randint(1, 3)))]
    text = f"{before}SELECT {', '.join(f'{each} AS c{at}' for at, each in enumerate(shown))} FROM {source}"
    if draw.random() < 0.6:
        text += f" WHERE {draw.choice(CONDITIONS)} {draw.choice(['AND', 'OR'])} {draw.choice(CONDITIONS)}"
    if groups:
        by = ", ".join(groups)
        text += f" GROUP BY {draw.choice([by, by, by, f'ROLLUP({by})', f'CUBE({by})', f'{by} WITH ROLLUP'])}"
    if draw.random() < 0.3:
        text += f" HAVING {_aggregate(draw)} > {draw.randint(-5, 50)}"
    if draw.random() < 0.3:
        text += f" ORDER BY c{draw.randrange(len(shown))} DESC LIMIT {draw.randint(0, 9)}"
    return text


def _nearly(draw: random.Random) -> str:
    """A valid text with a word more, less, or elsewhere."""
    words = _valid(draw).split(" ")
    at = draw.randrange(len(words))
    change = draw.randrange(4)
    if change == 0:
        del words[at]
    elif change == 1:
        words.insert(at, draw.choice(WORDS))
    elif change == 2:
        words[at] = draw.choice(words)
    else:
        words[at] = words[at].swapcase()
    return " ".join(words)


def _hostile(draw: random.Random) -> str:
    text = _valid(draw)
    kind = draw.randrange(4)
    if kind == 0:
        name = draw.choice(["spend", "age", "city"])
        return text.replace(name, draw.choice(ODD), 1)
    if kind == 1:
        return text + draw.choice(["; DROP TABLE visits", " -- x", " /* x */", "\0", " UNION SELECT 1", ";;", " \\"])
    if kind == 2:
        return text.replace("(", "(" * draw.randint(1, 200), 1)
    return text.replace(" ", draw.choice(["\t", "\n", "\u00a0", "/**/", "  ", "\u200b"]))


def texts(count: int, seed: int) -> list[str]:
    """So many texts: two fifths valid, two fifths nearly so, a fifth hostile."""
    draw = random.Random(f"{seed} {count}")
    return [(_valid, _valid, _nearly, _nearly, _hostile)[at % 5](draw) for at in range(count)]
