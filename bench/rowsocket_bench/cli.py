"""The command line of scripts/bench."""

import argparse
import datetime
import math
import pathlib
import signal
import sys
import tempfile
import time

from . import catalog, dataset, machine, plan as plans, publish, results, systems
from .fleet import Fleet
from .runner import Runner, estimates

HELP = """\
Measures this library beside MariaDB's own HandlerSocket plugin, memcached, SQL, Redis and a server
that only answers, all in private servers on loopback, in turns. Without an option: the table P0 to
P10, in less than ten minutes. With --server mysql-9.7: the library in MySQL, beside MySQL's SQL and X
Protocol."""


def arguments(argv):
    parser = argparse.ArgumentParser("scripts/bench", description=HELP)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--hot", action="store_true", help="the flash sale: one row, 1 to 4,096"
                      " connections")
    what.add_argument("--groups", action="store_true", help="purchases: a decrement and an order in one"
                      " group, beside SQL's transactions; about 6 minutes")
    what.add_argument("--memcached", action="store_true", help="the memcached protocol")
    what.add_argument("--resp", action="store_true", help="the RESP port beside Redis and Valkey; about 6 minutes")
    what.add_argument("--web", action="store_true", help="a web server's shared connections, 1 x 200 and 4 x 50,"
                      " beside Redis; about 3 minutes")
    what.add_argument("--settings", action="store_true", help="what settings of the server are"
                      " worth")
    what.add_argument("--secured", action="store_true", help="what an account's rights and TLS cost")
    what.add_argument("--cluster", action="store_true", help="a Galera cluster of three nodes; about"
                      " 10 minutes")
    what.add_argument("--replicas", action="store_true", help="a primary with two replicas: finds on"
                      " replicas, and how soon they see a write; about 4 minutes")
    what.add_argument("--full", action="store_true", help="all of that, cost against size, a small"
                      " buffer pool, other load generators; about 40 minutes")
    what.add_argument("--report", nargs="+", metavar="FILE", help="show results; measures nothing")
    what.add_argument("--publish", nargs="+", metavar="FILE", help="write results into the"
                      " documents; measures nothing")
    what.add_argument("--publish-beside", nargs="+", metavar="FILE", help="write into"
                      " docs/BENCHMARKS-BESIDE.md what another machine says of the same targets")
    what.add_argument("--publish-servers", nargs="+", metavar="FILE", help="write into"
                      " docs/BENCHMARKS-BESIDE.md what several lines of MariaDB say of the same cases")
    what.add_argument("--publish-mysql", nargs="+", metavar="FILE", help="write into"
                      " docs/BENCHMARKS-MYSQL.md what runs with --server mysql-9.7 say")
    what.add_argument("--publish-resp", nargs="+", metavar="FILE", help="write into"
                      " docs/BENCHMARKS-RESP.md what runs of --resp say, one file for a server")
    parser.add_argument("--only", metavar="P3,P4", help="only these rows or cases")
    parser.add_argument("--list", action="store_true", help="what would be measured")
    parser.add_argument("--quick", action="store_true", help="tiny tables and windows: shows that"
                        " it works, no figures")
    parser.add_argument("--minutes", type=float, metavar="N", help="leave out what does not fit")
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="of each case, instead"
                        " of its own 3 or 5")
    parser.add_argument("--rows", type=int, default=0, help="of each table, instead of 1,000,000")
    parser.add_argument("--option", action="append", default=[], metavar="--NAME=VALUE",
                        help="for all MariaDB servers (repeatable)")
    parser.add_argument("--out", metavar="FILE", help="where results go; an existing file is taken"
                        " up where it stopped (default: bench/results/DATE-CPU-COMMIT.jsonl)")
    parser.add_argument("--page", metavar="FILE", help="where the page with the plots goes")
    return parser.parse_args(argv)


def say(text):
    print(text, flush=True)


def make_plan(options):
    plan = plans.Plan(quick=options.quick, rounds_wanted=options.rounds,
                      server_options=tuple(options.option))
    plan.rows = options.rows or (plans.QUICK_ROWS if options.quick else plans.FULL_ROWS)
    return plan


def which(options):
    for name in ("hot", "groups", "memcached", "resp", "web", "settings", "secured", "cluster", "replicas", "full"):
        if getattr(options, name):
            return name
    return "canonical"


def choose_cases(plan, options):
    name = which(options)
    if options.only and name == "canonical":
        plan.want_sizes()
        known = [case for which_cases in ("full", "groups", "resp", "web") for case in plans.cases_of(plan, which_cases)]
        cases = catalog.select(known, options.only)
        if not any(case.row == "P11" for case in cases):
            plan.size_rows = plan.size_values = ()
        return cases
    if name == "full":
        plan.want_sizes()
    cases = plans.cases_of(plan, name)
    return catalog.select(cases, options.only) if options.only else cases


def measure(options):
    plan = make_plan(options)
    cases = choose_cases(plan, options)
    if options.list:
        for case in cases:
            say(f"{case.id:18} {case.title}")
        return 0
    about = machine.description()
    out = pathlib.Path(options.out) if options.out else results.new_file(
        machine.REPOSITORY / "bench/results", machine.file_name(about),
        {case.id for case in cases})
    done = results.finished(out)
    left_s = sum(estimates([case for case in cases if case.id not in done]).values())
    say(f"{len(cases)} cases, {len(done & {case.id for case in cases})} of them done already;"
        f" about {math.ceil(left_s / 60)} minutes; results go to {out}")
    started = time.monotonic()
    if not set().union(*(case.systems() for case in cases)) <= {"galera", "replicas"}:
        plan.data_directory = dataset.prepare(plan, say)
    systems.default_base().mkdir(parents=True, exist_ok=True)
    end_orderly_on_signals()
    with tempfile.TemporaryDirectory(dir=systems.default_base()) as base:
        plan.base = pathlib.Path(base)
        plan.base.chmod(0o755)
        writer = results.Writer(out)
        writer.write("run", **about, quick=plan.quick, rows=plan.rows,
                     options=systems.options_of_all(plan))
        fleet = Fleet(plan.base, plan)
        try:
            Runner(plan, fleet, writer, say).run(cases, done, limit(options, started))
        finally:
            fleet.stop()
    say(f"done in {datetime.timedelta(seconds=int(time.monotonic() - started))}")
    return show([out], options.page or out.with_suffix(".html"))


def end_orderly_on_signals():
    """Makes SIGTERM and SIGHUP stop the servers, as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, lambda ended_by, _: sys.exit(128 + ended_by))


def limit(options, started):
    if options.minutes is None:
        return None
    return options.minutes * 60 - (time.monotonic() - started)


def show(files, page):
    say("")
    say(publish.summary(files))
    publish.write_page(files, page)
    say(f"\nplots and tables: {page}")
    return 0


def main(argv=None):
    options = arguments(argv)
    try:
        if options.publish:
            return publish.publish(options.publish, say)
        if options.publish_beside:
            return publish.publish_beside(options.publish_beside, say)
        if options.publish_servers:
            return publish.publish_servers(options.publish_servers, say)
        if options.publish_mysql:
            return publish.publish_mysql(options.publish_mysql, say)
        if options.publish_resp:
            return publish.publish_resp(options.publish_resp, say)
        if options.report:
            last = pathlib.Path(options.report[-1])
            return show(options.report, options.page or last.with_suffix(".html"))
        return measure(options)
    except KeyboardInterrupt:
        say("interrupted; the same command with the same --out goes on")
        return 130
    except (ValueError, OSError) as error:
        say(f"bench: {error}")
        return 1
