"""The same cases in several lines of MariaDB, side by side: the section "Lines of MariaDB" of
docs/BENCHMARKS-BESIDE.md."""

import re

from . import overview, results as store, stats, tables

SYSTEMS = ("ours", "bundled", "SQL")


def line_of(result):
    """The line of MariaDB in which a case was measured: 10.11, 11.8."""
    return re.search(r"\d+\.\d+", result.run["versions"]["mariadb"]).group()


def by_line(files):
    """(runs, {line: results of that line}), lines in the order of their numbers."""
    runs, lines = [], {}
    for file in files:
        found, results = store.read([file])
        runs += found
        for result in results.values():
            lines.setdefault(line_of(result), {})[result.id] = result
    return runs, dict(sorted(lines.items(), key=lambda line: [int(part) for part in line[0].split(".")]))


def table(lines):
    """One row for each case and system that every line has."""
    rows = []
    first = next(iter(lines.values()))
    for id_, result in first.items():
        if not all(id_ in results for results in lines.values()):
            continue
        for system in SYSTEMS:
            rates = [overview.value(results[id_], system, "rps") for results in lines.values()]
            if None in rates:
                continue
            costs = [overview.value(results[id_], system, "total_us") for results in lines.values()]
            rows.append([result.title, overview.name(system),
                         *(tables.number("rps", rate) for rate in rates),
                         *(tables.number("total_us", cost) for cost in costs)])
    head = ("work", "system", *(f"{line}: requests/s" for line in lines),
            *(f"{line}: CPU us/request" for line in lines))
    return tables.Table("Lines of MariaDB beside each other", head, rows,
                        "Medians. The lines were measured one after the other on one machine, so a"
                        " difference below the machine's drift (up to 1.5) says nothing.")


def ratios(lines):
    """The ratios of Rowsocket's requests/s to SQL's in the same rounds, which are free of the machine's drift."""
    rows = []
    for id_, result in next(iter(lines.values())).items():
        cells = []
        for results in lines.values():
            other = results.get(id_)
            label = overview.label_of(other, "SQL") if other else None
            ratio = stats.ratio(other.series("ours", "rps"), other.series(label, "rps"))[0] if label else None
            cells.append("-" if ratio is None else f"{ratio:.1f}")
        if "-" not in cells:
            rows.append([result.title, *cells])
    return tables.Table("Rowsocket's requests/s in SQL's of the same line", ("work", *lines), rows)
