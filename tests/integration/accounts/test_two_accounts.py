"""A flash sale of two applications with accounts of their own: what one may do is taken from it and given back
while the other goes on selling, and no piece is lost or sold twice."""

import time

import pytest

import hs
from account_server import PORT_OPTIONS, start_with_accounts
from logins import OPTIONS as LOGINS
from sale import KEEP, Buyer, CounterBuyer, Sale, book_violations, make_counter, make_table, order_violations

STOCK = 8000
TURNS = 6  # times that the privileges are taken and given back
DENIED = (b"3\t1\tdenied", b"SERVER_ERROR access denied")
RIGHTS = "SELECT, INSERT, UPDATE, DELETE"


@pytest.fixture
def selling(make_server):
    server = start_with_accounts(make_server(options=PORT_OPTIONS, start=False))
    sql = server.sql()
    make_table(sql, "sale", STOCK)
    for name in ("writer", "cache"):
        sql.run(f"GRANT {RIGHTS} ON sale.stock TO {name}@localhost")
    make_counter(server, "sale")
    return server


class Toggles:
    """Takes the privileges of one account, and gives them back, as pieces are sold."""

    def __init__(self, sql, account, step):
        self.sql, self.account, self.step = sql, account, step
        self.next = step
        self.errors = 0
        self.without = []  # [from, until] where the account has nothing

    def __call__(self, sale):
        enough = sale.taken >= self.next or sale.error_replies >= self.errors + 500
        if len(self.without) >= TURNS and not self.is_denied() or not enough:
            return False
        self.next, self.errors = sale.taken + self.step, sale.error_replies
        if self.is_denied():
            self.without[-1].append(time.monotonic())
            self.sql.run(f"GRANT {RIGHTS} ON sale.stock TO {self.account}")
        else:
            self.sql.run(f"REVOKE {RIGHTS} ON sale.stock FROM {self.account}")
            self.without.append([time.monotonic()])
        return False

    def is_denied(self):
        return bool(self.without) and len(self.without[-1]) == 1

    def violations(self, books, is_theirs):
        """The requests of the account that were served while it had no privileges."""
        return [(one.sent, one.answered) for one in books if is_theirs(one.buyer)
                and any(begin <= one.sent and one.answered <= end for begin, end in self.without)]


@pytest.mark.parametrize("denied", ["writer", "cache"])
def test_rights_of_one_account_come_and_go_while_another_sells(selling, denied):
    sql = selling.sql()
    sale = Sale(selling, "sale", 32,
                buyers=lambda number, *args: (Buyer if number % 2 else CounterBuyer)(number, *args))
    toggles = Toggles(sql, f"{denied}@localhost", STOCK // (3 * TURNS))
    try:
        sale.play(toggles)
    finally:
        sale.close()
    assert len(toggles.without) == TURNS and not toggles.is_denied()
    assert set(sale.errors) == {DENIED[0] if denied == "writer" else DENIED[1]} and not sale.unknown
    final = int(sql.value("SELECT stock FROM sale.stock WHERE id = 1"))
    assert final == KEEP
    assert book_violations(sale.books, STOCK, final) == []
    assert order_violations(sale.books) == []
    kind = Buyer if denied == "writer" else CounterBuyer
    assert toggles.violations(sale.books, lambda buyer: type(buyer) is kind) == []
    assert {type(one.buyer) for one in sale.books} == {Buyer, CounterBuyer}


class AccountBuyer(Buyer):
    """A buyer who logs in; half of them with either account."""

    def begin(self, db):
        self.account = ("first", "second")[self.number % 2]
        self.sock.sendall(hs.line("A", 1, f"{self.account}:secret"))
        assert self.sock.recv(4096) == b"0\t1\n"
        return super().begin(db)


def test_requests_of_two_accounts_are_merged_and_judged_one_by_one(make_server):
    """Both log in on one port, so that their requests stand in one batch and change one row together."""
    server = make_server(options=LOGINS)
    sql = server.sql()
    make_table(sql, "sale", STOCK)
    for name in ("first", "second"):
        sql.run(f"CREATE USER {name}@'127.%' IDENTIFIED BY 'secret'")
        sql.run(f"GRANT {RIGHTS} ON sale.stock TO {name}@'127.%'")
    sale = Sale(server, "sale", 32, buyers=AccountBuyer)
    toggles = Toggles(sql, "second@'127.%'", STOCK // (3 * TURNS))
    try:
        sale.play(toggles)
    finally:
        sale.close()
    assert len(toggles.without) == TURNS and not toggles.is_denied()
    assert set(sale.errors) == {DENIED[0]} and not sale.unknown
    assert book_violations(sale.books, STOCK, int(sql.value("SELECT stock FROM sale.stock WHERE id = 1"))) == []
    assert order_violations(sale.books) == []
    assert toggles.violations(sale.books, lambda buyer: buyer.account == "second") == []
    assert sql.status("Handlersocket_merged_rows") > 0
    assert {one.buyer.account for one in sale.books} == {"first", "second"}
