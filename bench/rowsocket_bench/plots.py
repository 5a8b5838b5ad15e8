"""Results as SVG. The same results give the same bytes, so that a plot changes only with its results."""

import io
import re
import textwrap

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  after use(), so that matplotlib looks for no display
from matplotlib.ticker import LogLocator, MaxNLocator  # noqa: E402

from . import overview, stats, tables  # noqa: E402

STYLE = {"svg.hashsalt": "rowsocket", "svg.fonttype": "none", "font.size": 12,
         "font.family": "sans-serif", "axes.grid": True, "grid.alpha": 0.3,
         "axes.spines.top": False, "axes.spines.right": False, "figure.figsize": (6, 4.2),
         "figure.facecolor": "white"}
COLORS = {"ours": "#0b6e4f", "bundled": "#c8553d", "memcached": "#2f6690", "null server": "#999",
           "SQL": "#7d5ba6", "Redis": "#b23a48", "Valkey": "#e07a5f", "Valkey, 2 io-threads": "#f2b5a7",
           "ours, HandlerSocket": "#4f9d80", "ours, memcached": "#8cc2ad", "ours, store": "#6fb09a"}
MORE_COLORS = ("#b08900", "#3d405b", "#e07a5f", "#81b29a", "#5f0f40")
# The plots that the document and the page show first.
FIRST = ("hot", "finds", "updates", "cpu")
MARKERS = "osv^Dxp*h"


def color(label, labels):
    if label in COLORS:
        return COLORS[label]
    if label.startswith("SQL") and sum(other.startswith("SQL") for other in labels) == 1:
        return COLORS["SQL"]
    others = [other for other in labels if other not in COLORS]
    return MORE_COLORS[others.index(label) % len(MORE_COLORS)]


def svg(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None},
                   bbox_inches="tight")
    plt.close(figure)
    text = re.sub(r"[ \t]+$", "", file.getvalue(), flags=re.M)
    return text[text.index("<svg"):]


def lines(results, curve, metric, title, y_label, log=False):
    """A plot with one line per system over x; None if no system has two points."""
    points = tables.curve_points(results, curve)
    all_labels = tables.curve_labels(points)
    figure, axes = plt.subplots()
    drawn = 0
    for number, label in enumerate(all_labels):
        found = [(result.x, stats.median(result.series(label, metric))) for result in points]
        found = [(x, y) for x, y in found if y is not None]
        if len(found) < 2:
            continue
        axes.plot(*zip(*found), label=overview.name(label), color=color(label, all_labels), linewidth=1.4,
                  marker=MARKERS[number % len(MARKERS)], markersize=4)
        drawn += 1
    if not drawn:
        plt.close(figure)
        return None
    axes.set_xscale("log")
    xs = [result.x for result in points]
    axes.set_xticks(xs, [f"{x:,.0f}" for x in xs], rotation=60 if len(xs) > 5 else 0)
    axes.set_xlabel(tables.curve_x(curve))
    finish(axes, title, y_label, log)
    return svg(figure)


def finish(axes, title, y_label, log=False):
    axes.set_title(wrapped(title), loc="left", fontsize=13)
    axes.set_ylabel(y_label)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain_number)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=11, loc="upper center", bbox_to_anchor=(0.45, -0.28), ncols=2)


def plain_number(value, _=None):
    return f"{value:,.0f}" if value == 0 or abs(value) >= 1 else f"{value:g}"


def wrapped(text):
    """The title in lines that fit on a phone."""
    return textwrap.fill(text, 48)


def bars(results, cases, metric, title, unit, second=None):
    """A panel for each case, a bar for each system, from zero; a missing bar is replaced by its reason. With
    `second`, the part of the bar below that value is drawn darker."""
    cases = [(results[id_], words) for id_, words in cases if id_ in results]
    panels_of = [(result, words, overview.systems_in(result, metric)) for result, words in cases]
    heights = [len(systems) + 1.6 for _, _, systems in panels_of if systems]
    if not heights:
        return None
    figure, panels = plt.subplots(len(heights), 1, figsize=(6, 0.6 + 0.42 * sum(heights)), squeeze=False,
                                  height_ratios=heights)
    for axes, (result, words, systems) in zip(panels[:, 0], panels_of):
        most = max(overview.value(result, system, metric) or 0 for system in systems)
        for position, system in enumerate(systems):
            found = overview.value(result, system, metric)
            if found is None:
                axes.text(0, position, " " + overview.MISSING[result.id, system], va="center",
                          fontsize=10, style="italic")
                continue
            axes.barh(position, found, 0.75, color=COLORS[system], alpha=0.45 if second else 1)
            if second:
                axes.barh(position, overview.value(result, system, second) or 0, 0.75, color=COLORS[system])
            axes.text(found, position, f" {found:,.{0 if found >= 100 else 1}f}", va="center", fontsize=11)
        axes.set_yticks(range(len(systems)), [overview.name(system) for system in systems])
        axes.set_ylim(len(systems) - 0.5, -0.5)
        axes.set_xlim(0, most * 1.25)
        axes.xaxis.set_major_formatter(plain_number)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="y", visible=False)
        axes.set_title(words, loc="left", fontsize=11)
    panels[-1, 0].set_xlabel(unit)
    figure.suptitle(wrapped(title), x=0.02, ha="left", fontsize=13)
    figure.tight_layout()
    return svg(figure)


def panel_bars(panels_of, title):
    """A panel for each (words, {label: value}), with a bar for each value that is not missing."""
    panels_of = [(words, {label: value for label, value in found.items() if value is not None})
                 for words, found in panels_of]
    panels_of = [(words, found) for words, found in panels_of if found]
    if not panels_of:
        return None
    heights = [len(found) + 1.6 for _, found in panels_of]
    figure, panels = plt.subplots(len(heights), 1, figsize=(6, 0.6 + 0.42 * sum(heights)), squeeze=False,
                                  height_ratios=heights)
    for axes, (words, found) in zip(panels[:, 0], panels_of):
        labels = list(found)
        for position, (label, value) in enumerate(found.items()):
            axes.barh(position, value, 0.75, color=color(label, labels))
            axes.text(value, position, f" {value:,.0f}", va="center", fontsize=11)
        axes.set_yticks(range(len(found)), [overview.name(label) for label in labels])
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.set_xlim(0, 1.25 * max(found.values()))
        axes.xaxis.set_major_formatter(plain_number)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="y", visible=False)
        axes.set_title(words, loc="left", fontsize=11)
    figure.suptitle(wrapped(title), x=0.02, ha="left", fontsize=13)
    figure.tight_layout()
    return svg(figure)


def medians(result, metric):
    """{label: median} of a case."""
    return {label: stats.median(result.series(label, metric)) for label in result.labels}


def replica_bars(results, title):
    """A panel each for writes and finds, by the nodes to which the finds go."""
    result = results.get("R-finds")
    if result is None:
        return None
    return panel_bars([(words, medians(result, metric)) for metric, words in (("rps", "writes/s"), ("finds_s", "finds/s"))],
                      title)


def resp_bars(results, shape, title):
    """The same commands for each system, with so many connections and requests in flight."""
    cases = [(result.title, medians(result, "rps")) for result in results.values()
             if result.row == "RESP" and result.id.endswith("-" + shape) and "-benchmark-" not in result.id]
    return panel_bars(cases, title)


def draw(results):
    """name: (title, SVG) of each plot that these results fill."""
    connections = "requests/s by connections, one in flight on each"
    wanted = {
        "hot": ("One hot row, durable: " + connections,
                lambda t: lines(results, "hot", "rps", t, "requests/s")),
        "finds": ("Finds by primary key: requests/s",
                  lambda t: bars(results, overview.FINDS, "rps", t, "requests/s")),
        "updates": ("Durable updates of random rows, one in flight on each connection: requests/s",
                    lambda t: bars(results, overview.UPDATES, "rps", t, "requests/s")),
        "cpu": ("The server's CPU time for a request, user mode dark",
                lambda t: bars(results, (overview.COSTS[0], overview.COSTS[3]), "total_us", t, "us",
                               "user_us")),
        "connections": ("Finds: " + connections,
                        lambda t: lines(results, "connections", "rps", t, "requests/s")),
        "latency": ("Finds: latency p99 by connections", lambda t: lines(
            results, "connections", "p99_us", t, "us", log=True)),
        "connections-cpu": ("Finds: server CPU per request by connections", lambda t: lines(
            results, "connections", "total_us", t, "us")),
        "rate": ("Finds at a fixed rate: latency p99", lambda t: lines(
            results, "rate", "p99_us", t, "us", log=True)),
        "hot-latency": ("One hot row: latency p99 by connections", lambda t: lines(
            results, "hot", "p99_us", t, "us", log=True)),
        "hot-batch": ("One hot row: requests per fsync", lambda t: lines(
            results, "hot", "batch", t, "requests", log=True)),
        "groups": ("Purchases, a decrement of one row and its order in one transaction: " + connections,
                   lambda t: lines(results, "groups", "rps", t, "requests/s")),
        "galera": ("Durable decrements in a Galera cluster of three nodes: requests/s",
                   lambda t: bars(results, overview.GALERA, "rps", t, "requests/s")),
        "resp": ("RESP, four connections with 50 requests in flight on each: requests/s",
                 lambda t: resp_bars(results, "4x50", t)),
        "resp-30x1": ("RESP, 30 connections with one request in flight on each: requests/s",
                      lambda t: resp_bars(results, "30x1", t)),
        "resp-30x16": ("RESP, 30 connections with 16 requests in flight on each: requests/s",
                       lambda t: resp_bars(results, "30x16", t)),
        "replicas": ("A primary with two replicas: writes, and finds beside them",
                     lambda t: replica_bars(results, t)),
        "memcached-mixed": ("memcached protocol, 5 get : 1 set: " + connections,
                            lambda t: lines(results, "memcached-mixed", "rps", t, "requests/s")),
        "rows": ("CPU per find by rows in the table", lambda t: lines(
            results, "rows", "total_us", t, "us")),
        "columns": ("CPU per find by columns asked for", lambda t: lines(
            results, "columns", "total_us", t, "us")),
        "values": ("CPU per find by bytes of the value", lambda t: lines(
            results, "values", "total_us", t, "us", log=True)),
    }
    drawn = {}
    with plt.rc_context(STYLE):
        for name, (title, make) in wanted.items():
            text = make(title)
            if text:
                drawn[name] = (title, text)
    return drawn
