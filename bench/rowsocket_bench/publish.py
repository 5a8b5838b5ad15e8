"""Writes results where people read them: a page of its own, docs/BENCHMARKS.md with its plots, and
the section in README.md.
"""

import base64
import html
import pathlib
import re
import shutil
import textwrap

from . import judge, plan as plans, plots, results as store, stats, tables
from .machine import REPOSITORY

DOCUMENT = REPOSITORY / "docs/BENCHMARKS.md"
BESIDE = REPOSITORY / "docs/BENCHMARKS-BESIDE.md"
README = REPOSITORY / "README.md"
PLOTS = REPOSITORY / "docs/benchmarks"
RESULTS = REPOSITORY / "bench/results"
# What README shows: the case, and the words for it.
HIGHLIGHTS = (
    ("P0", "finds, each system at its own best"), ("P1", "finds, 30 connections, 1 in flight"),
    ("P3", "finds, 30 connections, 16 in flight"), ("P4", "the same on 10,000 hot rows"),
    ("P7-64", "durable updates, 64 connections"), ("P7-256", "durable updates, 256 connections"),
    ("P8-single", "durable inserts, 256 connections"),
    ("H-256", "durable decrements of one row, 256 connections"),
    ("H-1024", "the same, 1,024 connections"))
CSS = """body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
td,th{border-bottom:1px solid #ddd;padding:.25em .7em;text-align:left;vertical-align:top}
tr.miss{background:#fdf0ec}img{max-width:100%;margin:.5em 0}code{background:#f3f3f3}"""


def machine_lines(runs):
    """One line per machine and commit that the figures come from."""
    seen = {}
    for run in runs:
        versions = ", ".join(f"{name} {short_version(text)}"
                             for name, text in run["versions"].items())
        quick = " Tiny tables and windows (--quick): no figures to rely on." if run.get("quick") \
            else ""
        seen[run["file"], run["commit"]] = (
            f"`{run['file']}`: {run['time'][:10]}, commit `{run['commit']}`, {run['cpu']},"
            f" {run['cores']} cores, {run['memory_gib']} GiB, Linux {run['kernel']}; {versions};"
            f" {run['rows']:,} rows.{quick}")
    return list(seen.values())


def short_version(text):
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else text


def summary(files):
    """For a terminal: what was to be reached, and the curves."""
    runs, results = store.read(files)
    parts = [line.replace("`", "") for line in machine_lines(runs)]
    parts += [table.text() for table in tables.all_tables(results)]
    return "\n\n".join(parts + [reached_line(results)])


def never_run(results):
    """Targets of cases that these files do not have at all."""
    plan = plans.Plan()
    plan.want_sizes()
    return sum(len(case.targets) for case in plans.cases_of(plan, "full") if case.id not in results)


def reached_line(results, never_run_count=0):
    answers = [verdict.reached for result in results.values() for verdict in judge.verdicts(result)]
    answers += [reached for *_, reached in tables.extra_verdicts(results, results.values())]
    there = [reached for reached in answers if reached is not None]
    missing = len(answers) - len(there) + never_run_count
    return f"{sum(there)} of {len(there)} targets reached; {missing} not measured in these runs."


def page(files):
    """One HTML document with everything in it."""
    runs, results = store.read(files)
    parts = ["<!DOCTYPE html><html lang=en><meta charset=utf-8><title>Rowsocket: benchmark</title>"
             f"<style>{CSS}</style><h1>Rowsocket: benchmark</h1>"]
    parts += [f"<p>{html.escape(line).replace('`', '')}</p>" for line in machine_lines(runs)]
    parts.append(f"<p>{reached_line(results, never_run(results))}</p>")
    for title, text in plots.draw(results).values():
        data = base64.b64encode(text.encode()).decode()
        parts.append(f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">')
    parts += [table.html() for table in tables.all_tables(results)]
    return "\n".join(parts) + "\n</html>\n"


def write_page(files, path):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(files), encoding="utf-8")


# --- Documents ---

def replace_marked(text, mark, inside):
    """The text with what stands between <!-- mark: ... --> and <!-- mark: end --> replaced."""
    pattern = re.compile(rf"(<!-- {mark}: (?!end).*?-->\n).*?(<!-- {mark}: end -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"there are no marks <!-- {mark}: ... --> in the document")
    return pattern.sub(lambda found: f"{found[1]}\n{inside}\n{found[2]}", text)


def document(files):
    """What docs/BENCHMARKS.md says between its marks."""
    runs, results = store.read(files)
    parts = ["\n".join(f"- {line}" for line in machine_lines(runs)),
             reached_line(results, never_run(results))]
    drawn = plots.draw(results)
    if drawn:
        parts.append("All of it on one page: [docs/benchmarks/index.html](benchmarks/index.html).")
    parts += [f"![{title}](benchmarks/{name}.svg)" for name, (title, _) in drawn.items()]
    parts += [table.markdown().rstrip() for table in tables.all_tables(results)]
    return "\n\n".join(parts) + "\n"


def beside(files):
    """What another machine says of the same targets: less than a document of its own."""
    runs, results = store.read(files)
    parts = ["\n".join(f"- {line}" for line in machine_lines(runs)),
             reached_line(results, never_run(results))]
    parts += [table.markdown().rstrip() for table in tables.all_tables(results)
              if table.head[-1] == tables.VERDICT]
    return "\n\n".join(parts) + "\n"


def readme(files):
    """A line per kind of work: our requests/s and how many times the others' that is."""
    runs, results = store.read(files)
    run = runs[-1] if runs else None
    rows = []
    for name, words in HIGHLIGHTS:
        result = results.get(name)
        ours = stats.median(result.series("ours", "rps")) if result else None
        if ours is None:
            continue
        others = []
        for label in result.labels:
            ratio, _ = stats.ratio(result.series("ours", "rps"), result.series(label, "rps"))
            if label != "ours" and ratio is not None:
                others.append(f"{ratio:.2f} x {label}")
        rows.append((words, f"{ours:,.0f}", ", ".join(others)))
    table = tables.Table("", ("work", "requests/s", "which is"), rows)
    head = textwrap.fill(
        f"{run['cpu']}, {run['cores']} cores shared with the client, {run['rows']:,} rows, medians"
        f" of runs in turns, commit `{run['commit']}`:", 100) + "\n\n" if run else ""
    return head + table.markdown().split("\n", 2)[2]


def publish_beside(files, say):
    """Writes the verdicts of another machine than the document's own."""
    keep(files)
    write_marked(BESIDE, "another machine", beside(files), say)
    return 0


def keep(files):
    """Files from elsewhere are copied to where they are kept. Refuses those of --quick."""
    runs, _ = store.read(files)
    if any(run.get("quick") for run in runs):
        raise ValueError("a quick run has no figures to publish")
    for file in map(pathlib.Path, files):
        if file.resolve().parent != RESULTS:
            shutil.copy(file, RESULTS)


def write_marked(path, mark, inside, say):
    path.write_text(replace_marked(path.read_text(encoding="utf-8"), mark, inside),
                    encoding="utf-8")
    say(f"wrote {path.relative_to(REPOSITORY)}")


def publish(files, say):
    """Writes the documents from these files; later files win."""
    keep(files)
    _, results = store.read(files)
    PLOTS.mkdir(parents=True, exist_ok=True)
    drawn = plots.draw(results)
    for old in PLOTS.glob("*.svg"):
        if old.stem not in drawn:
            old.unlink()
    for name, (_, text) in drawn.items():
        (PLOTS / f"{name}.svg").write_text(text, encoding="utf-8")
    write_page(files, PLOTS / "index.html")
    write_marked(DOCUMENT, "results", document(files), say)
    write_marked(README, "performance", readme(files), say)
    return 0
