"""Results as tables, plots, a page and documents."""

import re
import shutil

import pytest

from rowsocket_bench import overview, plan as plans, plots, publish, results, tables

pytestmark = pytest.mark.once("starts no server")

RUN = {"time": "2026-11-21T20:00:00+00:00", "commit": "0123456789", "cpu": "Some CPU", "cores": 2,
       "memory_gib": 23.4, "kernel": "6.1", "rows": 1_000_000,
       "versions": {"mariadb": "10.11.18", "memcached": "memcached 1.6.18"}}
SPEED = {"ours": 600_000, "bundled": 400_000, "memcached": 200_000, "null server": 900_000}


def values(label, x):
    rps = SPEED.get(label, 50_000) / (1 + x / 10_000)
    return {"rps": rps, "user_us": 5e5 / rps, "total_us": 1e6 / rps, "p50_us": 1e7 / rps,
            "p99_us": 4e7 / rps, "batch": 12.5, "fsyncs_s": 800, "jain": 0.99}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with a figure for everything that --full measures."""
    plan = plans.Plan()
    plan.want_sizes()
    writer = results.Writer(tmp_path_factory.mktemp("results") / "run.jsonl")
    writer.write("run", **RUN)
    for case in plans.cases_of(plan, "full"):
        writer.case(case)
        for number in range(2):
            for entry in case.entries:
                writer.write("sample", case=case.id, label=entry.label, round=number,
                             load="30 x 16", values=values(entry.label, case.x))
        writer.write("done", case=case.id)
    return writer.path


@pytest.fixture(scope="module")
def found(whole):
    return results.read([whole])[1]


@pytest.fixture(scope="module")
def drawn(found):
    return plots.draw(found)


@pytest.fixture
def draws_nothing_twice(monkeypatch, drawn):
    monkeypatch.setattr(plots, "draw", lambda found: drawn if len(found) > 10 else {})


def table(found, title):
    return next(one for one in tables.all_tables(found) if one.title.startswith(title))


def test_each_target_has_its_line(found):
    lines = [row for row in table(found, "Finds, updates").rows if row[0] == "P3"]
    assert [row[5:] for row in lines] == [
        ["0.67", "<= 0.7 x bundled", "yes"], ["1.50", ">= 1.2 x bundled", "yes"],
        ["3.00", ">= 3 x memcached", "yes"]]
    missed = [row for row in table(found, "Finds, updates").rows
              if row[0] == "P4" and row[6] == ">= 1,000,000"]
    assert missed[0][5:] == ["600,000", ">= 1,000,000", "**no**"]


def test_figures_stand_for_every_system(found):
    rows = [row for row in table(found, "Their figures").rows if row[0] == "P1"]
    assert rows[0][1] == "finds, 30 connections x 1"
    assert [row[2] for row in rows] == ["ours", "bundled", "memcached", "null server",
                                        "SQL prepared"]
    assert rows[0][4] == "600,000"


def test_the_curve_of_the_hot_row_shows_batches_and_fsyncs(found):
    curve = table(found, "One hot row: requests/s")
    assert [row[0] for row in curve.rows] == ["1", "8", "16", "32", "64", "128", "256", "512",
                                              "1,024", "2,048", "4,096"]
    first = dict(zip(curve.head, curve.rows[0]))
    assert first["ours: taken/fsync"] == "12.5" and first["ours: fsyncs/s"] == "800"
    reach = [row for row in table(found, "One hot row: what").rows if row[0] == "H-4096"]
    assert reach[0][5] == "0.71" and reach[0][7] == "**no**"


def test_a_refused_window_is_named_under_its_curve(whole, tmp_path):
    writer = results.Writer(shutil.copy(whole, tmp_path))
    writer.write("refused", case="H-64", label="bundled", round=1, why="3 are missing, 2 answered")
    found = results.read([writer.path])[1]
    assert "H-64 bundled: 3 are missing" in table(found, "One hot row: requests/s").note


def test_settings_are_shown_relative_to_the_recommended(found):
    ratios = {row[6] for row in table(found, "What settings").rows if row[1] == "as recommended"}
    assert ratios == {"1.00"}


def test_the_table_of_2010_stands_beside(found):
    rows = table(found, "Beside the table of 2010").rows
    assert rows[0] == ["HandlerSocket", "750,000", "7.1", "600,000", "12.0"]


def test_every_plot_is_drawn_and_the_same_each_time(found, drawn):
    assert set(drawn) == {"finds", "updates", "cpu", "connections", "latency", "connections-cpu", "rate",
                          "hot", "hot-latency", "hot-batch", "memcached-mixed", "rows", "columns",
                          "values"}
    assert all(text.startswith("<svg") for _, text in drawn.values())
    few = {name: result for name, result in found.items() if result.curve == "hot"}
    assert plots.draw(few)["hot"] == drawn["hot"]


def test_bars_begin_at_zero_and_say_why_one_is_missing(drawn):
    for name in ("finds", "updates", "cpu"):
        assert "log" not in drawn[name][0] and ">0<" in drawn[name][1]
    assert "one statement at a time on a connection" in drawn["finds"][1]
    assert "it keeps nothing on disk" in drawn["updates"][1]


def test_the_overview_begins_with_the_hot_row_and_names_what_is_slower(whole, found, tmp_path):
    made = overview.all_tables(found)
    assert [table.title.split(":")[0] for table in made] == [
        "One hot row, durable decrements", "Finds by primary key", "What a request costs"]
    writer = results.Writer(shutil.copy(whole, tmp_path))
    case = next(case for case in plans.cases_of(plans.Plan(), "canonical") if case.id == "P8-bulk")
    writer.case(case)
    for label, rows_s in (("ours", 80), ("bundled", 100), ("SQL, 1,000 rows", 50)):
        writer.write("sample", case=case.id, label=label, round=0, load="1 x 1000",
                     values={"rps": rows_s, "rows_s": rows_s})
    writer.write("done", case=case.id)
    slower = overview.slower_table(results.read([writer.path])[1])
    assert slower.rows == [[case.title, "bundled plugin", "80", "100", "0.80"]]
    assert "median of the rounds' ratios" in slower.note


def test_a_row_names_its_run_where_the_results_are_of_several(tmp_path):
    files = []
    for day, case in enumerate(plans.cases_of(plans.Plan(), "canonical")[1:3], 1):
        writer = results.Writer(tmp_path / f"{day}.jsonl")
        writer.write("run", **{**RUN, "time": f"2026-11-2{day}T20:00:00+00:00", "cpu": "Some(R) CPU 7"})
        writer.case(case)
        for label, rps in (("ours", 80), ("bundled", 100)):
            writer.write("sample", case=case.id, label=label, round=0, load="1 x 1", values={"rps": rps})
        writer.write("done", case=case.id)
        files.append(writer.path)
    slower = overview.slower_table(results.read(files)[1])
    assert [row[1] for row in slower.rows] == ["Some 7, 2026-11-21", "Some 7, 2026-11-22"]
    assert {len(row) for row in slower.rows} == {len(slower.head)} == {6}


def test_figures_of_the_readme_name_their_run(whole):
    text = publish.readme([whole])
    assert "3.0 x memcached's" in text and "`run.jsonl` (2026-11-21, Some CPU" in text.replace("\n", " ")


def test_the_page_needs_nothing_else(whole, draws_nothing_twice):
    page = publish.page([whole])
    assert page.count("data:image/svg+xml;base64,") == 14
    assert not re.search(r'(src|href)=(?!"data:)', page)
    assert "Some CPU" in page and "0123456789" in page


def test_results_of_few_cases_make_a_report_too(tmp_path):
    writer = results.Writer(tmp_path / "few.jsonl")
    writer.write("run", **RUN)
    case = plans.cases_of(plans.Plan(), "canonical")[1]
    writer.case(case)
    writer.write("sample", case=case.id, label="ours", round=0, load="30 x 1", values={"rps": 5.0})
    assert "0 of 0 targets reached; 9 not measured" in publish.summary([writer.path])
    assert "5 |" in publish.readme([writer.path])
    writer.write("absent", case=case.id, label="bundled", why="not built")
    assert "not measured: not built" in publish.document([writer.path])


def test_replicas_have_a_table_and_a_plot(tmp_path):
    writer = results.Writer(tmp_path / "run.jsonl")
    writer.write("run", **RUN)
    for case in plans.cases_of(plans.Plan(), "replicas"):
        writer.case(case)
        for entry in case.entries:
            beside = {} if entry.label == "no finds" else {"finds_s": 35_000.0}
            writer.write("sample", case=case.id, label=entry.label, round=0, load="16 x 1",
                         values={"rps": 3000.0, "p50_us": 2000.0, "p99_us": 40_000.0, "max_us": 50_000.0, **beside})
        writer.write("done", case=case.id)
    found = results.read([writer.path])[1]
    made = table(found, "A primary with two replicas")
    assert made.head[4:8] == ("requests/s", "finds/s beside it", "latency p50 us", "latency p99 us")
    assert [row[2] for row in made.rows if row[0] == "R-fresh"][0] == "a write until its answer"
    _, text = plots.draw(found)["replicas"]
    assert [text.count(words) for words in (">no finds<", ">finds on two replicas<")] == [1, 2]


@pytest.fixture
def resp(tmp_path):
    """A file with a figure for everything that --resp measures."""
    writer = results.Writer(tmp_path / "resp.jsonl")
    writer.write("run", **RUN)
    for case in plans.cases_of(plans.Plan(), "resp"):
        writer.case(case)
        for entry in case.entries:
            rps = {"ours": 500_000.0, "Redis": 400_000.0}.get(entry.label, 600_000.0)
            writer.write("sample", case=case.id, label=entry.label, round=0, load="4 x 50", values={"rps": rps})
        writer.write("done", case=case.id)
    return writer.path


def test_resp_has_a_table_of_targets_and_a_plot_for_each_shape(resp):
    found = results.read([resp])[1]
    lines = {(row[0], row[6]): row[7] for row in table(found, "RESP: what").rows}
    assert lines["RESP-hmget-4x50", ">= 1 x Redis"] == "yes"
    assert lines["RESP-hmget-4x50", ">= 1 x Valkey"] == "**no**"
    drawn = plots.draw(found)
    assert set(drawn) == {"resp", "resp-30x1", "resp-30x16"}
    assert [drawn["resp"][1].count(f">{words}<") for words in ("Rowsocket", "Redis", "redis-benchmark")] == [3, 3, 0]


def test_resp_is_published_in_a_document_of_its_own(resp, tmp_path, monkeypatch):
    document = tmp_path / "docs/BENCHMARKS-RESP.md"
    document.parent.mkdir()
    document.write_text("begin\n<!-- results: by it -->\nbefore it\n<!-- results: end -->\nend\n")
    for name, path in (("RESP", document), ("RESP_PLOTS", tmp_path / "docs/benchmarks/resp"),
                       ("RESULTS", tmp_path), ("REPOSITORY", tmp_path)):
        monkeypatch.setattr(publish, name, path)
    assert publish.publish_resp([resp], print) == 0
    text = document.read_text()
    assert "## MariaDB 10.11.18" in text and "benchmarks/resp/resp-mariadb.svg" in text and "before it" not in text
    assert "| HMGET of 3 columns, 4 x 50 | Valkey | 500,000 | 600,000 | 0.83 |" in text
    assert (tmp_path / "docs/benchmarks/resp/resp-mariadb.svg").read_text().startswith("<svg")


def test_purchases_have_a_document_of_their_own(tmp_path):
    writer = results.Writer(tmp_path / "run.jsonl")
    writer.write("run", **RUN)
    for case in plans.cases_of(plans.Plan(), "groups"):
        writer.case(case)
        for entry in case.entries:
            writer.write("sample", case=case.id, label=entry.label, round=0, load="1 x 1", values=values(entry.label, case.x))
    text = publish.own_page([writer.path], publish.GROUPS)
    assert "benchmarks/groups.svg" in text and "| U-64 | purchases from one row" in text
    assert "purchases" not in publish.document([writer.path])
    assert publish.own_page([], publish.GROUPS) == ""


def test_documents_count_the_targets_that_were_never_run(tmp_path):
    plan = plans.Plan()
    plan.want_sizes()
    cases = plans.cases_of(plan, "full")
    writer = results.Writer(tmp_path / "few.jsonl")
    writer.write("run", **RUN)
    writer.case(cases[1])
    writer.write("sample", case=cases[1].id, label="ours", round=0, load="30 x 1",
                 values={"rps": 5.0})
    count = sum(len(case.targets) for case in cases)
    for document in (publish.document, publish.beside):
        assert f"0 of 0 targets reached; {count} not measured" in document([writer.path])


def test_documents_are_written_between_their_marks(whole, tmp_path, monkeypatch,
                                                   draws_nothing_twice):
    document, readme = tmp_path / "docs/BENCHMARKS.md", tmp_path / "README.md"
    figures = tmp_path / "docs/BENCHMARKS-FIGURES.md"
    beside = tmp_path / "docs/BENCHMARKS-BESIDE.md"
    document.parent.mkdir()
    document.write_text("begin\n<!-- overview: by a program -->\nbefore it\n<!-- overview: end -->"
                        "\nend\n")
    figures.write_text("begin\n<!-- results: by it -->\nbefore it\n<!-- results: end -->\nend\n")
    beside.write_text("<!-- another machine: by it -->\nbefore it\n<!-- another machine: end -->\n")
    readme.write_text("a\n<!-- performance: by it -->\nbefore it\n<!-- performance: end -->\nz\n")
    for name, value in (("DOCUMENT", document), ("FIGURES", figures), ("README", readme), ("BESIDE", beside),
                        ("REPOSITORY", tmp_path), ("PLOTS", tmp_path / "docs/benchmarks"),
                        ("RESULTS", tmp_path)):
        monkeypatch.setattr(publish, name, value)
    said = []
    publish.publish([whole], said.append)
    first = document.read_text(), readme.read_text(), figures.read_text()
    assert first[0].startswith("begin\n") and first[0].endswith("end\n")
    assert first[2].startswith("begin\n") and first[2].endswith("end\n")
    assert "before it" not in "".join(first)
    assert "1.5 x the bundled plugin's" in first[1] and first[1].endswith("z\n")
    for name in re.findall(r"\]\((benchmarks/[^)]+)\)", first[0] + first[2]):
        assert (tmp_path / "docs" / name).exists(), name
    publish.publish([whole], said.append)
    assert (document.read_text(), readme.read_text(), figures.read_text()) == first
    assert (tmp_path / "run.jsonl").read_bytes() == whole.read_bytes()
    publish.publish_beside([whole], said.append)
    assert "was to be reached" in beside.read_text() and "before it" not in beside.read_text()
    assert "figures" not in beside.read_text() and "![" not in beside.read_text()
    assert (document.read_text(), readme.read_text(), figures.read_text()) == first
    results.Writer(tmp_path / "quick.jsonl").write("run", **RUN, quick=True)
    with pytest.raises(ValueError, match="quick"):
        publish.publish([tmp_path / "quick.jsonl"], said.append)
    with pytest.raises(ValueError, match="no marks"):
        publish.replace_marked("nothing", "results", "x")
