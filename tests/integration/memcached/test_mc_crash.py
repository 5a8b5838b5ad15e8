"""SIGKILL under a load of sets: acknowledged values are there, in the table and over memcached."""

import pytest

import mc
from load import Crew, both_logs, clients_kept, scaled
from mc_tables import definition
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours]

KEYS = 40  # of one writer


class Setter:
    """One connection that sets its own keys to ever higher numbers, in one dialect."""

    def __init__(self, server, number, batch, dialect, noreply=False):
        self.server, self.number, self.batch, self.dialect = server, number, batch, dialect
        self.noreply = noreply
        self.sent, self.stored = {}, {}  # key: the last number sent, the last number acknowledged
        self.acknowledged = 0

    def request(self, key, data):
        if self.dialect == "binary":
            return mc.packet(mc.SET, key, data, mc.storing())
        if self.dialect == "meta":
            return b"ms %s %d\r\n%s\r\n" % (key, len(data), data)
        return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(data), data)

    def run(self, stopping):
        client = mc.connect(self.server)
        number = 0
        try:
            while not stopping.is_set():
                work = []
                for _ in range(self.batch):
                    number += 1
                    work.append((b"w%d-%d" % (self.number, number % KEYS), number))
                for key, value in work:
                    self.sent[key] = value
                client.send(b"".join(self.request(key, b"%d" % value) for key, value in work))
                for key, value in work:
                    if self.dialect == "binary":
                        assert client.packet().status == 0
                    else:
                        assert client.line() in (b"STORED", b"HD")
                    self.stored[key] = value
                    self.acknowledged += 1
        except (mc.Closed, OSError):
            pass

    def violations(self, rows):
        wrong = []
        for key, value in self.stored.items():
            there = int(rows.get(key, b"0"))
            if not value <= there <= self.sent[key]:
                wrong.append(f"{key}: {value} was acknowledged, {self.sent[key]} sent, {there} is there")
        return wrong


def crash_under_load(server, rng):
    setters = [Setter(server, number, *kind) for number, kind in enumerate(
        ((1, "text"), (1, "text"), (20, "text"), (50, "meta"), (10, "binary")))]
    with Crew() as crew:
        for setter in setters:
            crew.start(setter.run, crew.stopping)
        goal = rng.randint(1, 800)
        wait_until(lambda: crew.check() and sum(one.acknowledged for one in setters) >= goal, 30,
                   "acknowledged sets")
        with clients_kept(server):
            server.kill()
    server.close_clients()
    server.start()
    row = definition(server.sql())
    rows = dict(server.sql().rows(f"SELECT {row['key_columns']}, {row['value_columns']}"
                                  f" FROM {row['db_schema']}.{row['db_table']}"))
    wrong = [text for setter in setters for text in setter.violations(rows)]
    client = mc.connect(server)
    for setter in setters:
        for key in setter.stored:
            assert client.value(key) == rows.get(key)
    return wrong, sum(setter.acknowledged for setter in setters)


@pytest.mark.slow
@both_logs
def test_sigkill_under_sets(make_server, rng, options):
    server = make_server(options=options)
    total = 0
    for number in range(scaled(3)):
        wrong, acknowledged = crash_under_load(server, rng)
        assert wrong == [], f"round {number}"
        total += acknowledged
    assert total > 10


def test_the_same_round_sees_lost_sets(make_server, rng):
    """On a server that writes its log once a second the check does not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=0"])
    assert any(crash_under_load(server, rng)[0] for _ in range(10))
