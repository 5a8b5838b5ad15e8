"""Writes results into the documents that people read: a page of its own, docs/BENCHMARKS.md with the first
figures and the plots, docs/BENCHMARKS-FIGURES.md with all figures, and the section in README.md.
"""

import base64
import html
import pathlib
import re
import shutil

from . import judge, overview, plan as plans, plots, results as store, servers, stats, tables
from .machine import REPOSITORY

DOCUMENT = REPOSITORY / "docs/BENCHMARKS.md"
FIGURES = REPOSITORY / "docs/BENCHMARKS-FIGURES.md"
BESIDE = REPOSITORY / "docs/BENCHMARKS-BESIDE.md"
MYSQL = REPOSITORY / "docs/BENCHMARKS-MYSQL.md"
RESP = REPOSITORY / "docs/BENCHMARKS-RESP.md"
GROUPS = REPOSITORY / "docs/BENCHMARKS-GROUPS.md"
WEB = REPOSITORY / "docs/BENCHMARKS-WEB.md"
# The rows that have a document of their own.
OWN_PAGES = {GROUPS: ("U",), WEB: ("W", "C")}
README = REPOSITORY / "README.md"
PLOTS = REPOSITORY / "docs/benchmarks"
MYSQL_PLOTS, RESP_PLOTS = PLOTS / "mysql", PLOTS / "resp"
RESULTS = REPOSITORY / "bench/results"
# README's figures: the case, its name in words, and the systems that are compared.
HIGHLIGHTS = (
    ("H-1024", "durable decrements of one row by 1,024 connections", ("SQL", "Redis, Lua", "bundled")),
    ("P1", "finds by key, 30 connections, one request in flight on each",
     ("SQL prepared", "memcached", "bundled")),
    ("P3", "finds by key, 30 connections, 16 requests in flight on each", ("memcached", "bundled")))
BESIDE_NAMES = {"SQL prepared": "SQL's (prepared)", "SQL": "SQL's", "memcached": "memcached's",
                "bundled": "the bundled plugin's", "Redis, Lua": "Redis's (a script, `appendfsync always`)"}
CSS = """body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
td,th{border-bottom:1px solid #ddd;padding:.25em .7em;text-align:left;vertical-align:top}
tr.miss{background:#fdf0ec}img{max-width:100%;margin:.5em 0}code{background:#f3f3f3}"""


def machine_lines(runs):
    """One line for each machine and commit from which the figures come."""
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


def run_list(runs):
    """The runs as a list for a document."""
    return "\n".join(tables.wrapped(f"- {line}", "  ") for line in machine_lines(runs))


def short_version(text):
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else text


def summary(files):
    """A text for a terminal: the targets with their results, and the curves."""
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
    """One HTML document with everything in it, the overview first."""
    runs, results = store.read(files)
    drawn = plots.draw(results)
    parts = ["<!DOCTYPE html><html lang=en><meta charset=utf-8>"
             "<meta name=viewport content='width=device-width'><title>Rowsocket: benchmark</title>"
             f"<style>{CSS}</style><h1>Rowsocket: benchmark</h1>"]
    parts += [picture(drawn, name) for name in plots.FIRST]
    parts += [table.html() for table in overview.all_tables(results)]
    parts.append(f"<h2>The runs</h2><p>{reached_line(results, never_run(results))}</p>")
    parts += [f"<p>{html.escape(line).replace('`', '')}</p>" for line in machine_lines(runs)]
    parts.append("<h2>All plots and figures</h2>")
    parts += [picture(drawn, name) for name in drawn if name not in plots.FIRST]
    parts += [table.html() for table in tables.all_tables(results)]
    return "\n".join(part for part in parts if part) + "\n</html>\n"


def picture(drawn, name):
    if name not in drawn:
        return ""
    title, text = drawn[name]
    data = base64.b64encode(text.encode()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">'


def write_page(files, path):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(files), encoding="utf-8")


# --- Documents ---

def replace_marked(text, mark, inside):
    """Replaces the text between <!-- mark: ... --> and <!-- mark: end -->."""
    pattern = re.compile(rf"(<!-- {mark}: (?!end).*?-->\n).*?(<!-- {mark}: end -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"there are no marks <!-- {mark}: ... --> in the document")
    return pattern.sub(lambda found: f"{found[1]}\n{inside}\n{found[2]}", text)


def image(drawn, name, folder="benchmarks"):
    return f"![{drawn[name][0]}]({folder}/{name}.svg)"


def overview_part(files):
    """The beginning of docs/BENCHMARKS.md."""
    runs, results = store.read(files)
    drawn = plots.draw(results)
    made = overview.all_tables(results)
    parts = [image(drawn, name) for name in plots.FIRST if name in drawn]
    parts += [table.markdown().rstrip() for table in made]
    parts.append("The runs that these figures are of (a later file decides where a case is in"
                 " several):\n\n" + run_list(runs))
    if drawn:
        parts.append("All plots and tables on one page: [docs/benchmarks/index.html]"
                     "(benchmarks/index.html).")
    return "\n\n".join(parts) + "\n"


def of_rows(results, rows):
    return {name: result for name, result in results.items() if result.row in rows}


def own_page(files, path):
    """The text of a document that has only some rows; empty if none of their cases was measured."""
    _, results = store.read(files)
    found = of_rows(results, OWN_PAGES[path])
    if not found:
        return ""
    drawn = plots.draw(found)
    parts = [reached_line(found), *(image(drawn, name) for name in drawn)]
    parts += [table.markdown().rstrip() for table in tables.all_tables(found)]
    return "\n\n".join(parts) + "\n"


def document(files):
    """The text of docs/BENCHMARKS-FIGURES.md: all figures except those that have documents of their own."""
    _, results = store.read(files)
    elsewhere = sum(OWN_PAGES.values(), ())
    results = {name: result for name, result in results.items() if result.row not in elsewhere}
    drawn = plots.draw(results)
    parts = [reached_line(results, never_run(results))]
    parts += [image(drawn, name) for name in drawn if name not in plots.FIRST]
    parts += [table.markdown().rstrip() for table in tables.all_tables(results)]
    return "\n\n".join(parts) + "\n"


def beside(files):
    """The results of another machine for the same targets, which need no document of their own."""
    runs, results = store.read(files)
    parts = [run_list(runs),
             reached_line(results, never_run(results))]
    parts += [table.markdown().rstrip() for table in tables.all_tables(results)
              if table.head[-1] == tables.VERDICT]
    return "\n\n".join(parts) + "\n"


def readme(files):
    """The few figures that matter most, compared with other systems, and the run from which they come."""
    _, results = store.read(files)
    rows, runs = [], {}
    for name, words, others in HIGHLIGHTS:
        result = results.get(name)
        ours = stats.median(result.series("ours", "rps")) if result else None
        if ours is None:
            continue
        beside_it = []
        for label in others:
            ratio, _ = stats.ratio(result.series("ours", "rps"), result.series(label, "rps"))
            if ratio is not None:
                beside_it.append(f"{ratio:.1f} x {BESIDE_NAMES[label]}")
        rows.append((words, f"{ours:,.0f}", ", ".join(beside_it)))
        runs.setdefault((result.run.get("file"), result.run.get("commit")), result.run)
    table = tables.Table("", ("work", "requests/s", "which is"), rows).markdown().split("\n", 2)[2]
    sources = [f"`{run['file']}` ({run['time'][:10]}, {run['cpu']}, {run['cores']} cores that"
               f" server and load generator share, {run['rows']:,} rows)" for run in runs.values()]
    return table + "\n" + tables.wrapped(
        "Each figure is the median of several short measurements, in which the systems take turns. A ratio is the"
        " median of the ratios of measurements that were made side by side, not the ratio of two medians."
        f" Source: {', '.join(sources)} in [bench/results](bench/results).") + "\n"


def publish_beside(files, say):
    """Writes the verdicts of a machine other than the document's."""
    keep(files)
    write_marked(BESIDE, "another machine", beside(files), say)
    return 0


def of_mysql(files):
    """All plots and figures of runs on MySQL."""
    runs, results = store.read(files)
    drawn = plots.draw(results)
    parts = [image(drawn, name, "benchmarks/mysql") for name in drawn]
    parts += [table.markdown().rstrip() for table in overview.all_tables(results)]
    parts += [run_list(runs), reached_line(results)]
    parts += [table.markdown().rstrip() for table in tables.all_tables(results)]
    return "\n\n".join(parts) + "\n", drawn


def publish_mysql(files, say):
    """Writes the results of runs on MySQL."""
    runs, _ = store.read(files)
    if any("mysql" not in run["versions"] for run in runs):
        raise ValueError("these files are not of MySQL; scripts/bench --server mysql-9.7 measures it")
    keep(files)
    text, drawn = of_mysql(files)
    write_plots(MYSQL_PLOTS, drawn)
    write_marked(MYSQL, "results", text, say)
    return 0


def publish_resp(files, say):
    """Writes the results of runs of --resp: a section for each file, by its server."""
    keep(files)
    drawn, parts = {}, []
    for file in files:
        runs, results = store.read([file])
        family = "mysql" if any("mysql" in run["versions"] for run in runs) else "mariadb"
        own = {f"{name}-{family}": made for name, made in plots.draw(results).items()}
        drawn |= own
        version = short_version(runs[0]["versions"][family])
        parts.append(f"## {'MySQL' if family == 'mysql' else 'MariaDB'} {version}")
        parts += [image(own, name, "benchmarks/resp") for name in own]
        parts += [run_list(runs), reached_line(results)]
        parts += [table.markdown().rstrip() for table in (overview.slower_table(results), *tables.all_tables(results))
                  if table.rows]
    write_plots(RESP_PLOTS, drawn)
    write_marked(RESP, "results", "\n\n".join(parts) + "\n", say)
    return 0


def write_plots(folder, drawn):
    """Writes these plots, and removes others of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        if old.stem not in drawn:
            old.unlink()
    for name, (_, text) in drawn.items():
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def publish_servers(files, say):
    """Writes the results of runs of the same cases with several lines of MariaDB."""
    keep(files)
    runs, lines = servers.by_line(files)
    if len(lines) < 2:
        raise ValueError("these files are of one line of MariaDB; scripts/bench --server names another")
    parts = [run_list(runs),
             servers.table(lines).markdown().rstrip(), servers.ratios(lines).markdown().rstrip()]
    write_marked(BESIDE, "lines of MariaDB", "\n\n".join(parts) + "\n", say)
    return 0


def keep(files):
    """Copies files from elsewhere to the folder of results. Refuses files of --quick."""
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
    drawn = plots.draw(results)
    write_plots(PLOTS, drawn)
    write_page(files, PLOTS / "index.html")
    write_marked(DOCUMENT, "overview", overview_part(files), say)
    write_marked(FIGURES, "results", document(files), say)
    write_marked(README, "performance", readme(files), say)
    for path in OWN_PAGES:
        if text := own_page(files, path):
            write_marked(path, "results", text, say)
    return 0
