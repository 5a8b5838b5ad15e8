"""Results as SVG. The same results give the same bytes, so that a plot changes only with them."""

import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  after use(): no display is looked for
from matplotlib.ticker import LogLocator  # noqa: E402

from . import stats, tables  # noqa: E402

STYLE = {"svg.hashsalt": "rowsocket", "svg.fonttype": "none", "font.size": 9,
         "font.family": "sans-serif", "axes.grid": True, "grid.alpha": 0.3,
         "axes.spines.top": False, "axes.spines.right": False, "figure.figsize": (7, 3.8),
         "figure.facecolor": "white"}
COLOURS = {"ours": "#0b6e4f", "bundled": "#c8553d", "memcached": "#2f6690", "null server": "#999",
           "SQL": "#7d5ba6"}
MORE_COLOURS = ("#b08900", "#3d405b", "#e07a5f", "#81b29a", "#5f0f40")
BARS = ("P0", "P1", "P2", "P3", "P4", "P7-64", "P7-256")
BARS_FROM = 1000  # where bars on a logarithmic scale begin
MARKERS = "osv^Dxp*h"


def colour(label, labels):
    if label in COLOURS:
        return COLOURS[label]
    if label.startswith("SQL") and sum(other.startswith("SQL") for other in labels) == 1:
        return COLOURS["SQL"]
    others = [other for other in labels if other not in COLOURS]
    return MORE_COLOURS[others.index(label) % len(MORE_COLOURS)]


def svg(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None},
                   bbox_inches="tight")
    plt.close(figure)
    text = re.sub(r"[ \t]+$", "", file.getvalue(), flags=re.M)
    return text[text.index("<svg"):]


def lines(results, curve, metric, title, y_label, log=False):
    """One line per system over x; None without two points."""
    points = tables.curve_points(results, curve)
    all_labels = tables.curve_labels(points)
    figure, axes = plt.subplots()
    drawn = 0
    for number, label in enumerate(all_labels):
        found = [(result.x, stats.median(result.series(label, metric))) for result in points]
        found = [(x, y) for x, y in found if y is not None]
        if len(found) < 2:
            continue
        axes.plot(*zip(*found), label=label, color=colour(label, all_labels), linewidth=1.4,
                  marker=MARKERS[number % len(MARKERS)], markersize=4)
        drawn += 1
    if not drawn:
        plt.close(figure)
        return None
    axes.set_xscale("log")
    xs = [result.x for result in points]
    axes.set_xticks(xs, [f"{x:,.0f}" for x in xs],
                    rotation=45 if len(xs) > 8 else 0)
    axes.set_xlabel(tables.curve_x(curve))
    finish(axes, title, y_label, log)
    return svg(figure)


def finish(axes, title, y_label, log=False):
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel(y_label)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def bars(results, metric, title, y_label, second=None, log=False):
    """Groups of bars, one per case; with `second` the part of it below is drawn darker."""
    cases = [results[name] for name in BARS if name in results]
    labels = list(dict.fromkeys(short(label) for result in cases for label in result.labels))
    figure, axes = plt.subplots()
    width = 0.8 / max(1, len(labels))
    drawn = 0
    for number, label in enumerate(labels):
        xs, ys, parts = [], [], []
        for position, result in enumerate(cases):
            own = next((name for name in result.labels if short(name) == label), None)
            y = stats.median(result.series(own, metric)) if own else None
            if y is not None:
                xs.append(position + (number - (len(labels) - 1) / 2) * width)
                ys.append(y)
                parts.append((stats.median(result.series(own, second)) or 0) if second else 0)
        if xs:
            drawn += 1
            shade = colour(label, labels)
            axes.bar(xs, ys, width * 0.92, color=shade, alpha=0.45 if second else 1,
                     label=None if second else label)
            if second:
                axes.bar(xs, parts, width * 0.92, color=shade, label=label)
    if not drawn:
        plt.close(figure)
        return None
    axes.set_xticks(range(len(cases)), [f"{result.id}\n{shape(result)}" for result in cases])
    axes.grid(axis="x", visible=False)
    finish(axes, title, y_label, log)
    if log:
        axes.set_ylim(bottom=min(BARS_FROM, axes.get_ylim()[0]))
    return svg(figure)


def short(label):
    """SQL as text and SQL prepared are one colour: no case has both."""
    return "SQL" if label.startswith("SQL") else label


def shape(result):
    return result.loads.get("ours", "")


def draw(results):
    """name: (title, SVG) of each plot that these results fill."""
    connections = "requests/s by connections, one in flight on each"
    wanted = {
        "throughput": ("Requests/s of the canonical table",
                       lambda t: bars(results, "rps", t, "requests/s", log=True)),
        "cpu": ("Server CPU per request: whole bar; user mode: dark",
                lambda t: bars(results, "total_us", t, "us", "user_us")),
        "connections": ("Finds: " + connections,
                        lambda t: lines(results, "connections", "rps", t, "requests/s")),
        "latency": ("Finds: latency p99 by connections", lambda t: lines(
            results, "connections", "p99_us", t, "us", log=True)),
        "connections-cpu": ("Finds: server CPU per request by connections", lambda t: lines(
            results, "connections", "total_us", t, "us")),
        "rate": ("Finds at a fixed rate: latency p99", lambda t: lines(
            results, "rate", "p99_us", t, "us", log=True)),
        "hot": ("One hot row, durable: " + connections,
                lambda t: lines(results, "hot", "rps", t, "requests/s", log=True)),
        "hot-latency": ("One hot row: latency p99 by connections", lambda t: lines(
            results, "hot", "p99_us", t, "us", log=True)),
        "hot-batch": ("One hot row: requests per fsync", lambda t: lines(
            results, "hot", "batch", t, "requests", log=True)),
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
