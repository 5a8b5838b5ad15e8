"""scripts/torture: many rounds of what the tests of the sale do once, each from a seed of its own."""

import argparse
import json
import random
import sys
import time

from sale import (Sale, applied, book_violations, crash_violations, make_table, order_violations)
from server import Server

BINLOG = ["--log-bin=sale", "--sync-binlog=1", "--server-id=1"]


def with_server(options, function):
    """Calls function(server) with a private server that is gone afterwards."""
    server = Server("rowsocket", options)
    try:
        return function(server.start())
    finally:
        server.remove()


def sale_round(rng):
    """A sale at a random number of connections, run dry (H1, H2, H3)."""
    connections, stock = rng.choice((8, 64, 512, 4096)), rng.choice((20_000, 100_000, 500_000))

    def play(server):
        sql = server.sql()
        make_table(sql, "sale", stock)
        sale = Sale(server, "sale", connections, depth=rng.choice((1, 1, 8)))
        try:
            sale.play(timeout_s=600)
        finally:
            sale.close()
        final = int(sql.value("SELECT stock FROM sale.stock"))
        books = applied(sale.books)
        wrong = book_violations(books, stock, final) + order_violations(books)
        wrong += [f"{len(sale.unknown)} were not answered"] if sale.unknown else []
        return wrong + [f"answered {line!r}" for line in sale.errors], len(books)
    return with_server(rng.choice(([], BINLOG)), play)


def crash_round(rng):
    """SIGKILL at a random moment (H6)."""
    stock, goal = 100_000_000, int(10 ** rng.uniform(0, 4))

    def play(server):
        make_table(server.sql(), "sale", stock)
        sale = Sale(server, "sale", rng.choice((1, 8, 64, 512)), depth=rng.choice((1, 1, 4)))
        try:
            sale.play(lambda sale: sale.taken >= goal)
            server.kill()
            sale.play()
        finally:
            sale.close()
        server.start()
        final = int(server.sql().value("SELECT stock FROM sale.stock"))
        return crash_violations(sale, stock, final), sale.taken
    return with_server(rng.choice(([], BINLOG)), play)


KINDS = {"sale": sale_round, "crash": crash_round}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000, help="default 1000")
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    parser.add_argument("--only", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--result", help="file for the JSON object")
    options = parser.parse_args()
    options.kinds = options.only.split(",")
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown or options.rounds < 1:
        parser.error(f"--only takes some of {', '.join(KINDS)}; --rounds at least 1")
    return options


def main():
    options = parse_arguments()
    began = time.time()
    counts = {kind: {"rounds": 0, "applied": 0} for kind in options.kinds}
    failures = []
    for number in range(options.rounds):
        kind = options.kinds[number % len(options.kinds)]
        seed = options.seed * 1_000_003 + number
        wrong, taken = KINDS[kind](random.Random(seed))
        counts[kind]["rounds"] += 1
        counts[kind]["applied"] += taken
        failures += [{"kind": kind, "round": number, "seed": seed, "wrong": wrong}] if wrong else []
        print(f"{number + 1}/{options.rounds} {kind}: {taken} applied, "
              f"{'; '.join(wrong) or 'all accounted for'}", file=sys.stderr, flush=True)
    result = {"seed": options.seed, "seconds": round(time.time() - began), "kinds": counts,
              "failures": failures}
    text = json.dumps(result, indent=2)
    if options.result:
        with open(options.result, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
