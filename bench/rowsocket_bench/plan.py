"""How large and how long a run is, and where its programs are."""

import dataclasses
import math
import pathlib
import shutil
import subprocess

from . import catalog_full, certificates, dataset, loads
from .loader import WindowFailed
from .machine import REPOSITORY, cache_dir, is_mysql, memory_gib, read_env
from .model import Case, Load

QUICK_ROWS = 2_000
QUICK_SECONDS = 0.1
QUICK_CONNECTIONS = 64
QUICK_IDLE = 200
FULL_ROWS = 1_000_000
FILL_TIMEOUT_S = 120
LARGE_POOL_MEMORY_GIB = 16
IO_POOL_MIB_MIN = 8
WIDE_TABLES = ("wide", "wide64")


@dataclasses.dataclass
class Plan:
    rows: int = FULL_ROWS
    quick: bool = False
    rounds_wanted: int = 0
    size_rows: tuple = ()
    size_values: tuple = ()
    server_options: tuple = ()
    base: pathlib.Path = pathlib.Path()
    data_directory: pathlib.Path = pathlib.Path()
    load_program: pathlib.Path = REPOSITORY / "build-bench/bench/rowsocket-load"
    null_program: pathlib.Path = REPOSITORY / "build-bench/bench/rowsocket-null"

    def want_sizes(self):
        """Whether the plan has the tables of P11, too, which take minutes to make, once."""
        self.size_rows = (1_000, 2_000) if self.quick else catalog_full.ROWS
        self.size_values = (10, 1_000) if self.quick else catalog_full.VALUES

    def buffer_pool(self):
        """A buffer pool for all tables, with the hash index over 10,000,000 rows, if the machine has the memory for two
        such servers."""
        if not self.size_rows:
            return "1G"
        return "6G" if memory_gib() >= LARGE_POOL_MEMORY_GIB else "3G"

    def seconds(self, case):
        return QUICK_SECONDS if self.quick else case.seconds

    def rounds(self, case):
        return self.rounds_or(case.rounds)

    def rounds_or(self, count):
        return 1 if self.quick else self.rounds_wanted or count

    def idle(self, count):
        return min(count, QUICK_IDLE) if self.quick else count

    def fit(self, case):
        """The case with the changes that this plan makes to it, so that its estimate is right."""
        if self.quick:
            return dataclasses.replace(case, rounds=1, seconds=QUICK_SECONDS, warmup_s=0.05,
                                       options=(*case.options, ("estimated_s", 5)))
        return dataclasses.replace(case, rounds=self.rounds(case))

    def shaped(self, load: Load) -> Load:
        """The load with the number of rows that its table has in this plan."""
        if load.option("table") in WIDE_TABLES:
            capped = min(int(load.option("rows")), self.rows)
            load = dataclasses.replace(load, options=tuple(
                (name, capped if name == "rows" else value) for name, value in load.options))
        load = load.with_defaults(rows=self.rows)
        if not self.quick:
            return load
        options = tuple((name, f"hot:{QUICK_ROWS // 2}" if str(value).startswith("hot:") else value)
                        for name, value in load.options)
        return dataclasses.replace(load, connections=min(load.connections, QUICK_CONNECTIONS),
                                   options=options)

    def io_pool_mib(self):
        """The size of a buffer pool with a third of the table that is read, or the least size that the server takes."""
        size_mib = dataset.table_bytes(self, "user") / (1 << 20)
        return max(IO_POOL_MIB_MIN, math.ceil(size_mib / 3))

    def certificate(self):
        """The certificate of all servers of the run that speak TLS."""
        return certificates.make(self.base)

    def placeholders(self, variant):
        """The names that the options of a server's variant may use, with their values."""
        if variant == "io":
            return {"io_pool_mib": self.io_pool_mib()}
        return dataclasses.asdict(self.certificate()) if variant == "tls" else {}

    @property
    def memcached_program(self):
        env = cache_dir() / "memcached/env"
        if env.exists():
            return read_env(env)["ROWSOCKET_MEMCACHED"]
        return shutil.which("memcached")

    def null_arguments(self, port):
        return ["--port", port, "--reply", loads.FOUND]

    def fill_memcached(self, memcached):
        """Stores each row of test.user as one value."""
        options = (("rows", self.rows), *((("tls", ""),) if memcached.has_tls else ()))
        arguments = Load("mc-fill", 4, 64, options).arguments()
        done = subprocess.run(
            [self.load_program, *arguments, "--host=127.0.0.1", f"--port={memcached.number}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FILL_TIMEOUT_S,
            check=False)
        if done.returncode != 0:
            raise WindowFailed(f"memcached is not filled: {done.stderr.strip()[-200:]}")


def cases_of(plan: Plan, which: str) -> list[Case]:
    """The cases of a set: canonical, hot, groups, memcached, resp, web, settings, secured, cluster, replicas or full."""
    # imported here: these modules know loads, which knows dataset
    from . import catalog, catalog_cluster, catalog_groups, catalog_hot, catalog_memcached, catalog_resp, \
        catalog_secured, catalog_web, mysql

    parts = {
        "canonical": lambda: catalog.canonical(),
        "hot": lambda: catalog_hot.hot(),
        "groups": lambda: list(catalog_groups.groups()),
        "memcached": lambda: list(catalog_memcached.memcached()),
        "resp": lambda: catalog_resp.resp(),
        "web": lambda: [*catalog_web.web(), *catalog_web.by_cores()],
        "settings": lambda: list(catalog_full.settings()),
        "secured": lambda: list(catalog_secured.secured()),
        "cluster": lambda: list(catalog_cluster.cases()),
        "replicas": lambda: list(catalog_cluster.replica_cases()),
        "full": lambda: [*catalog_full.open_loop(), *catalog_full.other_clients(),
                         *catalog_full.size(plan), *catalog_full.small_buffer_pool()],
    }
    names = ["canonical", "hot", "memcached", "full", "settings", "secured"] if which == "full" else [which]
    made = [case for name in names for case in parts[name]()]
    if is_mysql():
        made = mysql.cases(made, which)
    cases = [plan.fit(case) for case in made]
    catalog.flat(cases)
    return cases
