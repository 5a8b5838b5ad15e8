"""The figures that a reader wants first: the hot row, finds at one depth, the cost of a request, and the
cases in which other systems are faster. Each case is named in words."""

from . import judge, machine, stats, tables

HOT = (64, 256, 1024, 4096)
SYSTEMS = ("ours", "bundled", "memcached", "SQL", "null server")
# The id of each case, and its name in words.
FINDS = (("P1", "one request in flight on each of 30 connections"),
         ("P3", "16 requests in flight on each of 30 connections"))
UPDATES = (("P7-64", "64 connections"), ("P7-256", "256 connections"))
COSTS = (("P1", "a find, 30 connections, one in flight"), ("P3", "a find, 30 connections, 16 in flight"),
         ("P5", "16 keys in one request, 30 connections"),
         ("P7-64", "a durable update, 64 connections"), ("P7-256", "a durable update, 256 connections"),
         ("H-1024", "a durable decrement of one row, 1,024 connections"))
GALERA = tuple((f"G-{nodes}-{count}{rows}", f"{what}, {where}, {count} connections")
               for rows, what in (("", "one row"), ("-random", "10,000 rows"))
               for nodes, where in ((1, "one writing node"), (3, "three writing nodes")) for count in (64, 256))
# Why a system is missing in a case; a system without an entry here was not part of the case.
MISSING = {("P3", "SQL"): "one statement at a time on a connection",
           ("P7-64", "memcached"): "it keeps nothing on disk",
           ("P7-256", "memcached"): "it keeps nothing on disk"}
# The overview names ratios below this one; ratios above it are within the spread of repeated runs.
SLOWER = 0.95
RATIO = "Ratio: the median of the rounds' ratios, which is not the ratio of the two medians in its row."
NAMES = {"ours": "Rowsocket", "bundled": "bundled plugin"}


def name(label):
    """A system's name as readers know it."""
    first, comma, rest = label.partition(",")
    return NAMES.get(first, first) + comma + rest


def label_of(result, system):
    """The label of a system in a case: SQL is prepared in some cases and text in others."""
    return next((label for label in result.labels
                 if label == system or (system == "SQL" and label in ("SQL prepared", "SQL text"))), None)


def systems_in(result, metric):
    """The systems with a figure, and the systems for which the reason of a missing figure is known."""
    return [system for system in SYSTEMS
            if value(result, system, metric) is not None or (result.id, system) in MISSING]


def why_missing(id_, system):
    return MISSING.get((id_, system), "not part of this case")


def value(result, system, metric):
    label = label_of(result, system) if result else None
    return stats.median(result.series(label, metric)) if label else None


def finds_table(results):
    there = [(id_, words) for id_, words in FINDS if id_ in results]
    rows = []
    for system in SYSTEMS:
        cells = []
        for id_, _ in there:
            found = value(results[id_], system, "rps")
            cells += [f"({why_missing(id_, system)})" if found is None else f"{found:,.0f}",
                      tables.number("p99_us", value(results[id_], system, "p99_us"))]
        rows.append([name(system), *cells])
    head = [""]
    for _, words in there:
        head += [f"requests/s, {words}", "p99 us"]
    return tables.Table("Finds by primary key", tuple(head), rows if there else [])


def hot_table(results):
    points = [result for result in tables.curve_points(results, "hot") if result.x in HOT]
    labels = tables.curve_labels(points)
    rows = [[name(label), *(tables.number("rps", stats.median(result.series(label, "rps")))
                            for result in points)] for label in labels]
    return tables.Table("One hot row, durable decrements: requests/s by connections",
                        ("", *(f"{result.x:,.0f}" for result in points)), rows,
                        "One request in flight on each connection. A - stands where a system was not"
                        " measured.")


def cost_table(results):
    systems = SYSTEMS[:4]
    rows = []
    for id_, words in COSTS:
        if id_ in results:
            rows.append([words, *(tables.number("total_us", value(results[id_], system, "total_us"))
                                  for system in systems)])
    return tables.Table("What a request costs: the server's CPU time in us",
                        ("", *map(name, systems)), rows,
                        "A - stands where a system has no such work: memcached keeps nothing on disk,"
                        " and a connection of SQL has one statement at a time.")


def beside_others(results, title, found, note=""):
    """A table of the cases in which another system is ahead; found: the result of each case, and the row's cells. If
    the results are of several runs, each row names its run, because machines and days differ, too."""
    several = len({result.run.get("file") for result in results.values()}) > 1
    rows = [[result.title, *([f"{machine.short_cpu(result.run)}, {result.run['time'][:10]}"] if several else []),
             *cells] for result, *cells in found]
    return tables.Table(title, ("work", *(["measured on"] if several else []), "the other", "Rowsocket",
                                "the other has", "ratio"), rows, f"{note} {RATIO}".lstrip())


def slower_table(results):
    """Every case in which another system has more requests/s."""
    found = []
    for result in results.values():
        metric = "rows_s" if result.id == "P8-bulk" else "rps"
        ours = result.series("ours", metric)
        for label in result.labels:
            if label.startswith(("ours", "null server")):
                continue
            ratio, _ = stats.ratio(ours, result.series(label, metric))
            if ratio is not None and ratio < SLOWER:
                found.append([result, name(label), tables.number(metric, stats.median(ours)),
                              tables.number(metric, stats.median(result.series(label, metric))),
                              f"{ratio:.2f}"])
    return beside_others(results, "Where others are faster", found,
                         f"All cases of these runs in which Rowsocket has less than {SLOWER} of another"
                         " system's requests/s (or rows/s).")


def late_table(results):
    """A table of how late the replies are: on a fixed schedule all systems have the same requests/s."""
    found = []
    for result in tables.curve_points(results, "rate"):
        for target in result.targets:
            verdict = judge.judge(result, target)
            if verdict.value is not None and verdict.value > 1:
                found.append([result, name(target.other), tables.value_of("p99_us", verdict.ours),
                              tables.value_of("p99_us", verdict.other), f"{verdict.value:.2f}"])
    return beside_others(results, "Where others answer sooner at the same rate: latency p99", found)


def all_tables(results):
    made = (hot_table(results), finds_table(results), cost_table(results), slower_table(results),
            late_table(results))
    return [table for table in made if table.rows]
