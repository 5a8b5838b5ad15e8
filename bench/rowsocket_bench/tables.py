"""Results as tables: a table has a heading and rows of text, shown as Markdown, HTML or plain text."""

import dataclasses
import html
import textwrap

from . import judge, stats
from .model import METRICS, metric_text

CANONICAL = tuple(f"P{number}" for number in range(11))
# Yoshinori Matsunobu, "Using MySQL as a NoSQL - A story for exceeding 750,000 qps on a commodity
# server", October 2010: requests/s of a server with 8 cores.
PUBLISHED = (("HandlerSocket", "ours", 750_000), ("memcached", "memcached", 420_000),
             ("SQL", "SQL", 105_000))
CURVES = {
    "hot": "One hot row: requests/s by connections",
    "groups": "Purchases, a decrement of one row and an order: requests/s by connections",
    "memcached-mixed": "memcached protocol, 5 get : 1 set: requests/s by connections",
    "connections": "Finds by primary key: requests/s by connections",
    "rate": "Latency p99 in us at a fixed rate of requests/s, 30 connections",
    "rows": "CPU per find in us, by rows in the table",
    "columns": "CPU per find in us, by columns asked for",
    "values": "CPU per find in us, by bytes of the value",
}
COLUMNS = 120  # the width of prose in a document
VERDICT = "reached"  # The last column of tables of targets; no other table has it.
CURVE_METRIC = {"rows": "total_us", "columns": "total_us", "values": "total_us", "rate": "p99_us"}


@dataclasses.dataclass
class Table:
    title: str
    head: tuple
    rows: list
    note: str = ""

    def markdown(self):
        lines = [f"### {self.title}", ""]
        if self.note:
            lines += [wrapped(self.note), ""]
        lines += ["| " + " | ".join(self.head) + " |", "|" + "---|" * len(self.head)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    def html(self):
        def cells(row, tag):
            return "".join(f"<{tag}>{html.escape(cell).replace('**', '')}</{tag}>" for cell in row)

        body = "".join(f"<tr{miss(row)}>{cells(row, 'td')}</tr>\n" for row in self.rows)
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (f"<h2>{html.escape(self.title)}</h2>{note}<table><tr>{cells(self.head, 'th')}</tr>"
                f"\n{body}</table>")

    def text(self):
        rows = [[cell.replace("**", "") for cell in row] for row in (self.head, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in rows]
        return "\n".join([self.title, *lines])


def wrapped(text, indent=""):
    """The text in lines of a document; indent: before each line but the first, as in a list."""
    return textwrap.fill(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def miss(row):
    return " class=miss" if "**no**" in row else ""


def in_row(results, rows):
    return [result for result in results.values() if result.row in rows and not result.curve]


def value_of(metric, value):
    return "-" if value is None else metric_text(metric, value)


def verdict_table(results, title, chosen):
    """One line per target."""
    rows = []
    for result in chosen:
        for verdict in judge.verdicts(result):
            metric = verdict.target.metric
            other = verdict.target.other
            rows.append([result.id, result.title, verdict.name,
                         value_of(metric, verdict.ours),
                         f"{value_of(metric, verdict.other)} {other}" if other else "-",
                         verdict.value_text(), verdict.target.text(), verdict.reached_text()])
    for id_, title_, what, value, target, reached in extra_verdicts(results, chosen):
        rows.append([id_, title_, what, "-", "-", value, target,
                     {None: "-", True: "yes", False: "**no**"}[reached]])
    return Table(title, ("", "work", "what", "ours", "the other", "ratio", "to reach", VERDICT), rows,
                 "Ours and the other: medians. Ratio: ours to the other's in each round, of"
                 " that the median.")


def extra_verdicts(results, chosen):
    """Targets over several cases: (id, title, what, value, target, reached)."""
    points = {result.x: stats.median(result.series("ours", "rps"))
              for result in chosen if result.curve == "hot"}
    points = {x: rps for x, rps in points.items() if rps}
    if 4096 in points:
        share = points[4096] / max(points.values())
        yield ("H-4096", "one hot row, 4,096 connections", "requests/s of the peak",
               f"{share:.2f}", ">= 0.8", share >= 0.8)
    fsync = results.get("H-fsync")
    if fsync and points:
        bound = 3 * (stats.median(fsync.series("disk", "p99_us")) or 0) + 1000
        p99 = stats.median(results["H-64"].series("ours", "p99_us")) if "H-64" in results else None
        if p99:
            yield ("H-64", "one hot row, 64 connections", "latency p99", f"{p99:,.0f} us",
                   f"<= 3 x p99 of an fsync + 1 ms = {bound:,.0f} us", p99 <= bound)


def figures_table(title, chosen):
    """One line per system and case; - stands for a missing figure."""
    metrics = [metric for metric in METRICS if any(
        metric in values for result in chosen for by_round in result.samples.values()
        for values in by_round.values())]
    metrics = [metric for metric in metrics if metric != "rows_s"
               or any(more_than_rps(result, metric) for result in chosen)]
    rows = []
    for result in chosen:
        for label in result.labels:
            series = {metric: result.series(label, metric) for metric in metrics}
            spread = stats.spread(result.series(label, "rps"))
            why = result.absent.get(label, "")
            rows.append([result.id, result.title, label + (f" ({why})" if why else ""),
                         result.loads.get(label, "-"),
                         *(number(metric, stats.median(series[metric])) for metric in metrics),
                         "-" if spread is None else f"{spread:.0%}"])
    head = ["", "work", "system", "connections x depth",
            *(" ".join(part for part in METRICS[metric][:2] if part) for metric in metrics),
            "spread"]
    return Table(title, tuple(head), rows, "Medians of the rounds. Spread: largest less smallest"
                 " requests/s, of the median.")


def more_than_rps(result, metric):
    return any(values.get(metric, 0) > 1.5 * values.get("rps", 0)
               for by_round in result.samples.values() for values in by_round.values())


def number(metric, value):
    return "-" if value is None else f"{value:,.{METRICS[metric][2]}f}"


def curve_points(results, curve):
    return sorted((result for result in results.values() if result.curve == curve),
                  key=lambda result: result.x)


def curve_labels(points):
    labels = []
    for result in points:
        labels += [label for label in result.labels if label not in labels]
    return labels


def curve_table(results, curve):
    points = curve_points(results, curve)
    labels = curve_labels(points)
    metric = CURVE_METRIC.get(curve, "rps")
    shown = [(label, metric, label) for label in labels]
    if curve == "hot":
        shown += [("ours", "per_batch", "ours: requests/batch"),
                  ("ours", "per_row", "ours: requests/row change")]
        for label in ("ours", "bundled", "SQL"):
            shown += [(label, "batch", f"{label}: taken/fsync"), (label, "fsyncs_s",
                                                                  f"{label}: fsyncs/s")]
        shown += [("ours", "p99_us", "ours: p99 us"), ("ours", "jain", "ours: Jain index")]
    if curve == "groups":
        shown += [("ours", key, f"ours: {what}") for key, what in (
            ("stopped_s", "stopped/s"), ("failed_s", "failed/s"), ("per_batch", "requests/batch"),
            ("batch", "purchases/fsync"), ("fsyncs_s", "fsyncs/s"), ("p50_us", "p50 us"), ("p99_us", "p99 us"))]
        shown += [(label, "failed_s", f"{label}: failed/s") for label in labels if label.startswith("SQL")]
    rows = [[f"{result.x:,.0f}", *(number(key, stats.median(result.series(label, key)))
                                 for label, key, _ in shown)] for result in points]
    return Table(CURVES[curve], (curve_x(curve), *(name for _, _, name in shown)), rows,
                 refused_note(points))


def curve_x(curve):
    return {"hot": "connections", "groups": "connections", "memcached-mixed": "connections", "rate": "requests/s"}.get(
        curve, curve)


def refused_note(points):
    refused = [f"{result.id} {label}: {why}" for result in points
               for label, _, why in result.refused]
    return "Windows without a figure, their conservation check failed: " + "; ".join(refused) \
        if refused else ""


def settings_table(results):
    rows = []
    for result in in_row(results, ("S",)):
        base = result.series(result.labels[0], "rps")
        for label in result.labels:
            ratio, _ = stats.ratio(result.series(label, "rps"), base)
            rows.append([result.title, label,
                         *(number(metric, stats.median(result.series(label, metric)))
                           for metric in ("rps", "user_us", "total_us", "p99_us")),
                         "-" if ratio is None else f"{ratio:.2f}"])
    return Table("What settings are worth", ("work", "setting", "requests/s", "user CPU us",
                                             "CPU us", "p99 us", "of the recommended"), rows)


def published_table(results):
    result = results.get("P0")
    if result is None:
        return None
    here = {label: stats.median(result.series(label, "rps")) for _, label, _ in PUBLISHED}
    sql_2010 = PUBLISHED[-1][2]
    rows = []
    for name, label, published in PUBLISHED:
        of_sql = f"{here[label] / here['SQL']:.1f}" if here[label] and here["SQL"] else "-"
        rows.append([name, f"{published:,}", f"{published / sql_2010:.1f}",
                     number("rps", here[label]), of_sql])
    return Table("Beside the table of 2010", ("", "2010: requests/s", "of SQL", "here: requests/s",
                                              "of SQL"), rows)


def all_tables(results):
    """Every table that these results fill, in reading order."""
    groups = ((CANONICAL, "Finds, updates, connections: what was to be reached", "Their figures"),
              (("H",), "One hot row: what was to be reached", "Its figures beside the curve"),
              (("U",), "Purchases in groups: what was to be reached", "Their figures"),
              (("W",), "A web server's shared connections: what was to be reached", "Their figures"),
              (("T",), "Accounts and TLS: what was to be reached", "Their figures"),
              (("G",), "A Galera cluster of three nodes: what was to be reached", "Its figures"),
              (("R",), "A primary with two replicas: what was to be reached", "A primary with two replicas"),
              (("RESP",), "RESP: what was to be reached", "RESP beside Redis, Valkey and the other ports"),
              (tuple(f"M{number}" for number in range(1, 7)),
               "memcached protocol: what was to be reached", "Its figures"))
    found = []
    for rows, title, figures_title in groups:
        everything = [result for result in results.values() if result.row in rows]
        verdicts = verdict_table(results, title, everything)
        found += [verdicts] if verdicts.rows else []
        found += [figures_table(figures_title, in_row(results, rows))]
        if rows == CANONICAL:
            found.append(published_table(results))
    found += [curve_table(results, curve) for curve in CURVES]
    found += [figures_table("What the server's cores take from each other", in_row(results, ("C",))),
              settings_table(results),
              figures_table("A buffer pool of a third of the data", in_row(results, ("IO",))),
              figures_table("Other ways to the same row, other load generators",
                            in_row(results, ("X",)))]
    return [table for table in found if table is not None and table.rows]
