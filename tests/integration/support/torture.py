"""scripts/torture: many rounds of work that the tests do once or a few times, each with a seed of its own.

Rounds are shared out to processes, each with private servers of its own. A server is used for many rounds (and killed
and started again if the kind of round says so). It is replaced now and then, and when a round has failed: then its
directory is kept.
"""

import argparse
import functools
import json
import multiprocessing
import pathlib
import random
import sys
import tempfile
import time
import traceback

from cluster import Cluster
from cluster_trouble import sale_through_failover, tokens_through_failovers, trouble_between_nodes
from group_history import MIXED, histories, is_explained
from load import BINLOG_OPTIONS
from lost_cache import OPTIONS, LostCache
from purchase_nodes import purchases_between_nodes, purchases_through_failover
from purchase_trouble import FORGETFUL, OPTIONS as PURCHASE_OPTIONS, TROUBLES, purchases_in_trouble
from sale import (Buyer, CounterBuyer, Sale, book_violations, error_violations, killed_sale,
                  make_table, order_violations)
from server import SERVERS, Server, interrupt_on_signals, is_mysql, run_packaged, server_name
from test_deadlock import deadlocks, random_shape
from test_linearizable import make_register, random_histories
from test_sale_trouble import killed_primary, killed_workers, storm_of_ddl, vanishing_clients
from test_tokens import TABLE, kills_and_reconnects

SERVER_ROUNDS = 25  # rounds for which one server is used
SALE_SECONDS_MAX = 1.5  # before a kill, because few connections need long for their purchases


class ServerPool:
    """The private servers and clusters of one process, one for each set of options."""

    def __init__(self):
        self.servers = {}  # options: [server, lossy disk or None, rounds, its temporary folder]
        self.clusters = {}  # kind: [cluster, rounds]

    def server(self, options, loses_cache=False):
        """A running server with these options, and the memory of its writes if it has one."""
        key = (*options, loses_cache)
        if key not in self.servers:
            folder = tempfile.TemporaryDirectory(prefix="rs-torture-")
            lossy_disk = None
            if loses_cache:
                notes = pathlib.Path(folder.name) / "cache"
                notes.mkdir()
                lossy_disk = LostCache(notes)
                options = [*OPTIONS, *options]
            server = Server("rowsocket", options, environment=lossy_disk and lossy_disk.environment)
            self.servers[key] = [server, lossy_disk, 0, folder]
            server.start()
        self.servers[key][2] += 1
        return self.servers[key][:2]

    def cluster(self, kind):
        """A running cluster, "galera", "group" or "replicas"."""
        if kind not in self.clusters:
            cluster = Cluster(kind, options=["--loose-handlersocket-tokens=ON", "--loose-resp-socket=resp.sock",
                                             "--loose-group-replication-member-expel-timeout=0"])
            self.clusters[kind] = [cluster, 0]
            cluster.start()
        self.clusters[kind][1] += 1
        return self.clusters[kind][0]

    def make_server(self, plugin="rowsocket", options=(), **kwargs):
        """A server only for this round; called like the tests' fixture of that name."""
        server = Server(plugin, options, **kwargs)
        folder = tempfile.TemporaryDirectory(prefix="rs-torture-")
        self.servers[server] = [server, None, SERVER_ROUNDS, folder]
        return server.start()

    def end_round(self):
        """Removes the servers that were used often enough."""
        for key in [key for key, entry in self.servers.items() if entry[2] >= SERVER_ROUNDS]:
            self.remove(key)
        for kind in [kind for kind, (_, rounds) in self.clusters.items() if rounds >= SERVER_ROUNDS]:
            self.remove_cluster(kind)

    def remove_cluster(self, kind, keep=False):
        cluster, _ = self.clusters.pop(kind)
        cluster.keep = keep
        cluster.remove()
        return str(cluster.directory)

    def remove(self, key, keep=False):
        server, _, _, folder = self.servers.pop(key)
        server.keep = keep
        server.kill()
        server.remove()
        folder.cleanup()
        return str(server.directory)

    def close(self, keep=False):
        """Removes all servers; with keep the directories stay. Returns the directories."""
        return ([self.remove(key, keep) for key in list(self.servers)]
                + [self.remove_cluster(kind, keep) for kind in list(self.clusters)])


def counts(sale):
    return {"applied": sale.taken, "unknown": len(sale.unknown)}


# Each round returns the violations, its counts, and the server with its schema.


def sale_round(rng, pool, db):
    """A sale at a random number of connections, run dry (H1, H2, H3)."""
    connections, stock = rng.choice((8, 64, 512, 4096)), rng.choice((20_000, 100_000, 500_000))
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    sql = server.sql()
    make_table(sql, db, stock)
    sale = Sale(server, db, connections, depth=rng.choice((1, 1, 8)))
    try:
        sale.play(timeout_s=600)
    finally:
        sale.close()
    wrong = book_violations(sale.books, stock, int(sql.value(f"SELECT stock FROM {db}.stock")))
    wrong += order_violations(sale.books)
    wrong += [f"{len(sale.unknown)} were not answered"] if sale.unknown else []
    return wrong + error_violations(sale), counts(sale), server


def crash_round(rng, pool, db):
    """SIGKILL at a random moment (H6), over both protocols."""
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    buyers = rng.choice((Buyer, Buyer, CounterBuyer))
    wrong, sale = killed_sale(server, rng, db, int(10 ** rng.uniform(0, 4)), buyers,
                              seconds_max=SALE_SECONDS_MAX)
    return wrong, counts(sale), server


def cut_round(rng, pool, db):
    """A power cut: writes without a flush are gone (H7)."""
    server, lossy_disk = pool.server(rng.choice(([], BINLOG_OPTIONS)), loses_cache=True)
    buyers = rng.choice((Buyer, Buyer, CounterBuyer))
    wrong, sale = killed_sale(server, rng, db, int(10 ** rng.uniform(0, 3.5)), buyers,
                              then=lossy_disk.cut_power, seconds_max=SALE_SECONDS_MAX)
    return wrong, counts(sale), server


def met_so_far(sql):
    """How many lock waits and deadlocks there have been."""
    return {"lock_waits": sql.status("Handlersocket_lock_waits"), "deadlocks": deadlocks(sql)}


def deadlock_round(rng, pool, db):
    """One kind of a deadlock with a SQL transaction (H8)."""
    server, _ = pool.server(rng.choice((
        [], BINLOG_OPTIONS, ["--innodb-rollback-on-timeout=ON"])))
    before = met_so_far(server.sql())
    wrong, acknowledged = random_shape(server, db, rng)
    met = {name: count - before[name] for name, count in met_so_far(server.sql()).items()}
    return wrong, {"applied": acknowledged, **met}, server


def history_round(rng, pool, db):
    """Histories of reads and changes of all kinds are linearizable (H4)."""
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    make_register(server, db)
    wrong, operations = random_histories(server, db, rng)
    return wrong, {"operations": operations}, server


def kill_round(rng, pool, db):
    """KILL of workers (H8)."""
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    wrong, sale = killed_workers(server, db, rng)
    return wrong, counts(sale), server


def vanish_round(rng, pool, db):
    """Clients vanish between request and reply (H10)."""
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    wrong, sale = vanishing_clients(server, db, rng)
    return wrong, counts(sale), server


def token_round(rng, pool, db):
    """Tokens: exactly once across kills and reconnects (H11)."""
    server, _ = pool.server(["--handlersocket-tokens=ON"])
    run_packaged(server.sql(), TABLE)
    wrong, bought, repeated = kills_and_reconnects(server, db, rng, rng.randint(1, 3))
    return wrong, {"applied": bought, "repeated": repeated}, server


def replica_round(rng, pool, db):
    """The acknowledged purchases are on the semi-synchronous replica of a primary that is killed (H12)."""
    wrong, sale, pair = killed_primary(pool.make_server, rng, db)
    return wrong, counts(sale), pair.replica


def ddl_round(rng, pool, db):
    """DDL during a sale (H13)."""
    server, _ = pool.server(rng.choice(([], BINLOG_OPTIONS)))
    wrong, sale = storm_of_ddl(server, db)
    return wrong, counts(sale), server


def purchase_round(rng, pool, db):
    """Purchases of several rows by groups and transactions beside one trouble (G2)."""
    trouble = rng.choice(TROUBLES)
    server, lossy_disk = pool.server([*rng.choice(([], BINLOG_OPTIONS)), *PURCHASE_OPTIONS], trouble in FORGETFUL)
    wrong, counted = purchases_in_trouble(trouble, server, lossy_disk, db, rng)
    return wrong, counted, server


def purchase_nodes_round(kind, rng, pool, db):
    """Purchases through nodes that all write, with one trouble of a node (G2)."""
    cluster = pool.cluster(kind)
    wrong, counted = purchases_between_nodes(cluster, db, rng)
    return wrong, counted, cluster[1]


def purchase_failover_round(rng, pool, db):
    """Purchases at a primary that is killed; a replica is promoted, the primary comes back (G2, H12)."""
    cluster = pool.cluster("replicas")
    wrong, counted = purchases_through_failover(cluster, db, rng)
    return wrong, counted, cluster.primary


def serial_round(rng, pool, db):
    """Histories of transactions over several rows, by groups, MULTI and SQL, are strictly serializable (G5)."""
    server, _ = pool.server([*rng.choice(([], BINLOG_OPTIONS)), *PURCHASE_OPTIONS])
    server.sql().run(f"CREATE DATABASE {db}")
    played = list(histories(server, db, rng, MIXED, 3))
    wrong = [f"from {state} to {end}: {history}" for history, state, end in played if not is_explained(history, state, end)]
    return wrong, {"operations": sum(len(history) for history, *_ in played)}, server


def failover_round(rng, pool, db):
    """The primary of two replicas is killed, one is promoted, the old primary comes back (H11, H12)."""
    cluster = pool.cluster("replicas")
    run_packaged(cluster.primary.sql(), TABLE)
    trouble = rng.choice((tokens_through_failovers, sale_through_failover))
    wrong, counted = trouble(cluster, rng, db)
    return wrong, counted, cluster.primary


def nodes_round(kind, rng, pool, db):
    """A sale through nodes that all write, with one trouble: a node that is killed, cut off or paused, or DDL."""
    cluster = pool.cluster(kind)
    wrong, counted = trouble_between_nodes(cluster, rng, db)
    return wrong, counted, cluster[1]


KINDS = {"sale": sale_round, "crash": crash_round, "cut": cut_round, "deadlock": deadlock_round,
         "history": history_round, "kill": kill_round, "vanish": vanish_round, "token": token_round,
         "replica": replica_round, "ddl": ddl_round, "purchase": purchase_round, "serial": serial_round,
         "galera": functools.partial(nodes_round, "galera"),
         "group": functools.partial(nodes_round, "group"), "failover": failover_round,
         "purchase-galera": functools.partial(purchase_nodes_round, "galera"),
         "purchase-group": functools.partial(purchase_nodes_round, "group"), "purchase-failover": purchase_failover_round}
# The only family of servers that has this kind.
SERVERS_WITH = {f"{prefix}{kind}": family for prefix in ("", "purchase-")
                for kind, family in (("galera", "mariadb"), ("group", "mysql"), ("failover", "mariadb"))}
MIX = ("crash,deadlock,crash,cut,vanish,crash,deadlock,history,crash,kill,"
       "crash,deadlock,token,cut,crash,deadlock,replica,crash,ddl,sale")
# A fifth of the default rounds of the mix are deadlocks; `--only deadlock` plays the same number.
DEFAULT_ROUNDS, DEADLOCKS = 1000, 200


def play_round(kinds, seed, number, pool):
    """One round's entry for the result: kind, counts, violations."""
    kind, db = kinds[number % len(kinds)], f"round{number}"
    entry = {"kind": kind, "round": number, "seed": seed * 1_000_003 + number, "counts": {},
             "wrong": []}
    began = time.monotonic()
    try:
        entry["wrong"], entry["counts"], server = KINDS[kind](
            random.Random(entry["seed"]), pool, db)
        server.close_clients()
        server.sql().run(f"DROP DATABASE {db}")
        server.close_clients()
        pool.end_round()
    except Exception as error:  # noqa: B902 - a round that ends with another exception is a finding, too
        entry["wrong"] += [repr(error), traceback.format_exc()]
    if entry["wrong"]:
        entry["directories"] = pool.close(keep=True)
    return entry | {"seconds": time.monotonic() - began}


def play_rounds(kinds, seed, numbers, until, entries):
    """Plays the rounds of one process, as long as there is time. Returns None at the end."""
    interrupt_on_signals()
    pool = ServerPool()
    try:
        for number in numbers:
            if time.monotonic() >= until:
                break
            entries.put(play_round(kinds, seed, number, pool))
    except KeyboardInterrupt:
        pass
    finally:
        pool.close()
        entries.put(None)


class Result:
    """The result of all rounds, which can continue the file of an earlier run."""

    def __init__(self, options):
        of = {"server": server_name(), "seed": options.seed, "only": options.kinds}
        self.data = of | {"rounds": 0, "seconds": 0, "done": [], "kinds": {}, "failures": []}
        if options.resume and pathlib.Path(options.result).exists():
            self.data = json.loads(pathlib.Path(options.result).read_text())
            if any(self.data.get(name) != value for name, value in of.items()):
                raise SystemExit(f"{options.result} is of another --server, --seed or --only")
        self.began = time.time() - self.data["seconds"]

    def missing(self, rounds):
        done = {number for first, last in self.data["done"] for number in range(first, last + 1)}
        return [number for number in range(rounds) if number not in done]

    def add(self, entry):
        """Adds the counts, and the number of rounds in which each count is not 0."""
        kind = self.data["kinds"].setdefault(entry["kind"], {"rounds": 0})
        kind["rounds"] += 1
        for name, count in entry["counts"].items():
            kind[name] = kind.get(name, 0) + count
            kind[f"rounds_with_{name}"] = kind.get(f"rounds_with_{name}", 0) + (count > 0)
        self.data["rounds"] += 1
        self.data["failures"] += [entry] if entry["wrong"] else []
        self.mark_done(entry["round"])
        self.data["seconds"] = round(time.time() - self.began)

    def mark_done(self, number):
        """Notes the played rounds, as [first, last] of each stretch."""
        stretches = []
        for first, last in sorted([*self.data["done"], [number, number]]):
            if stretches and first <= stretches[-1][1] + 1:
                stretches[-1][1] = last
            else:
                stretches.append([first, last])
        self.data["done"] = stretches

    def text(self):
        return json.dumps(self.data, indent=2)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"default {DEFAULT_ROUNDS}; {DEADLOCKS} of"
                        " deadlocks alone")
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    parser.add_argument("--only", default=MIX,
                        help=f"kinds of rounds, in turn: {', '.join(KINDS)}; default {MIX}")
    parser.add_argument("--jobs", type=int, default=1, help="rounds at a time; default 1")
    parser.add_argument("--result", help="file for the JSON object")
    parser.add_argument("--resume", action="store_true",
                        help="go on behind the rounds that --result has, and add to it")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no round after so long")
    options = parser.parse_args()
    options.kinds = options.only.split(",")
    if options.rounds is None:
        options.rounds = DEADLOCKS if set(options.kinds) == {"deadlock"} else DEFAULT_ROUNDS
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown or options.rounds < 1 or options.jobs < 1 or (options.resume and not options.result):
        parser.error(f"--only takes some of {', '.join(KINDS)}; --rounds and --jobs at least 1; "
                     "--resume needs --result")
    for kind in options.kinds:
        family = SERVERS_WITH.get(kind, server_name())
        if not server_name().startswith(family):
            having = " or ".join(name for name in SERVERS if name.startswith(family))
            parser.error(f"--only {kind} takes --server {having}, not {server_name()}")
    return options


def main():
    interrupt_on_signals()
    options = parse_arguments()
    result, entries = Result(options), multiprocessing.SimpleQueue()
    numbers, until = result.missing(options.rounds), time.monotonic() + options.seconds
    players = [multiprocessing.Process(target=play_rounds, args=(
        options.kinds, options.seed, numbers[job::options.jobs], until, entries))
        for job in range(options.jobs)]
    for player in players:
        player.start()
    playing = len(players)
    try:
        while playing > 0:
            entry = entries.get()
            if entry is None:
                playing -= 1
                continue
            result.add(entry)
            print(f"{result.data['rounds']}/{options.rounds} round {entry['round']}, {entry['kind']}, "
                  f"{entry['seconds']:.1f} s, seed {entry['seed']}: "
                  + "".join(f"{count} {name}, " for name, count in entry["counts"].items())
                  + ("; ".join(entry["wrong"]) or "all accounted for"), file=sys.stderr, flush=True)
    except BaseException:
        for player in players:
            player.terminate()
        raise
    finally:
        for player in players:
            player.join()
        if options.result:
            pathlib.Path(options.result).write_text(result.text() + "\n", encoding="utf-8")
    print(result.text())
    return 1 if result.data["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
