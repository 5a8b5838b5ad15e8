"""A flash sale: many connections that take from the stock of one row, and the books of what they
were told.

Every buyer sends a conditional decrement that asks for the value before it, again and again until
the row is sold out. One thread plays them all, so that its clock orders what they sent and got:
book entries are (sent, answered, value before) with one time for all connections.
"""

import collections
import resource
import select
import socket
import struct
import time

import hs

KEEP = 3  # what the condition leaves in stock


def make_table(sql, db, stock, rows=1):
    sql.run(f"CREATE DATABASE IF NOT EXISTS {db}")
    sql.run(f"CREATE TABLE {db}.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    for row in range(1, rows + 1):
        sql.run(f"INSERT INTO {db}.stock VALUES (%s, %s)", row, stock)


def allow_connections(count):
    """Raises the limit of open files of this process, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 256
    assert hard >= wanted, f"the limit of open files is {hard}: {wanted} are needed (ulimit -Hn)"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


class Purchase:
    """One answered request. before is None when the condition did not hold."""

    __slots__ = ("buyer", "sent", "answered", "before")

    def __init__(self, buyer, sent):
        self.buyer, self.sent = buyer, sent
        self.answered = self.before = None


class Buyer:
    """One connection with up to `depth` requests under way."""

    def __init__(self, number, port, db, row, depth):
        self.number, self.row, self.depth = number, row, depth
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = hs.line(*hs.find_tokens(
            0, "=", [row], 1, 0, filters=[("F", ">", 0, KEEP)], mod=["-?", 1]))
        self.under_way = collections.deque()
        self.data = b""
        self.sold_out = False
        self.open = hs.line(*hs.open_tokens(0, db, "stock", "PRIMARY", "stock", "stock"))

    def begin(self):
        self.sock.sendall(self.open)
        answer = b""
        while not answer.endswith(b"\n"):
            part = self.sock.recv(4096)
            assert part, "closed while opening"
            answer += part
        assert hs.parse(answer[:-1]) == hs.OK, answer
        self.sock.setblocking(False)


class Sale:
    """Plays buyers against one server.

        sale = Sale(server, db, connections=64)
        sale.play(until=lambda sale: sale.taken >= 1000)
        sale.books, sale.unknown, sale.errors
    """

    def __init__(self, server, db, connections, depth=1, rows=1, port="HS_PORT_WR"):
        allow_connections(connections)
        self.books = []      # answered, in the order of the answers
        self.unknown = []    # sent, and the connection ended first
        self.errors = collections.Counter()
        self.error_replies = 0
        self.taken = 0
        self.poll = select.epoll()
        self.buyers = {}
        for number in range(connections):
            buyer = Buyer(number, int(server.env[port]), db, 1 + number % rows, depth)
            self.buyers[buyer.sock.fileno()] = buyer
        for buyer in self.buyers.values():
            buyer.begin()
            self.poll.register(buyer.sock.fileno(), select.EPOLLIN)
        self.active = len(self.buyers)

    def play(self, until=lambda sale: False, timeout_s=120):
        """Until every buyer has been told that it is sold out, or `until` says so."""
        deadline = time.monotonic() + timeout_s
        for buyer in list(self.buyers.values()):
            self.send(buyer)
        while self.active and not until(self):
            assert time.monotonic() < deadline, f"{self.taken} taken, {self.active} still buy"
            for descriptor, _ in self.poll.poll(5):
                self.receive(self.buyers[descriptor])

    def leave(self, buyer):
        """Goes away with a reset, requests under way or not."""
        buyer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end(buyer)

    def send(self, buyer):
        count = buyer.depth - len(buyer.under_way)
        if count <= 0:
            return
        now = time.monotonic()
        for _ in range(count):
            buyer.under_way.append(Purchase(buyer, now))
        try:
            sent = buyer.sock.send(buyer.request * count)
            assert sent == count * len(buyer.request), "the socket took less than it was offered"
        except (ConnectionError, BrokenPipeError):
            self.end(buyer)

    def receive(self, buyer):
        try:
            part = buyer.sock.recv(65536)
        except BlockingIOError:
            return
        except (ConnectionError, OSError):
            part = b""
        if not part:
            self.end(buyer)
            return
        now = time.monotonic()
        lines = (buyer.data + part).split(b"\n")
        buyer.data = lines.pop()
        for line in lines:
            self.settle(buyer, line, now)
        if not buyer.sold_out:
            self.send(buyer)
        elif not buyer.under_way:
            self.end(buyer)

    def settle(self, buyer, line, now):
        purchase = buyer.under_way.popleft()
        purchase.answered = now
        if line.startswith(b"0\t1\t"):
            purchase.before = int(line[4:])
            self.taken += 1
        elif line == b"0\t1":
            buyer.sold_out = True
        else:
            self.errors[line] += 1
            self.error_replies += 1
            return
        self.books.append(purchase)

    def end(self, buyer):
        self.unknown.extend(buyer.under_way)
        buyer.under_way.clear()
        self.poll.unregister(buyer.sock.fileno())
        del self.buyers[buyer.sock.fileno()]
        buyer.sock.close()
        self.active -= 1

    def close(self):
        for buyer in list(self.buyers.values()):
            self.end(buyer)
        self.poll.close()


def applied(books, row=None):
    return [one for one in books
            if one.before is not None and (row is None or one.buyer.row == row)]


def order_violations(purchases):
    """H3: whoever was answered before another asked has seen more stock than that other."""
    wrong = []
    by_answer = sorted(purchases, key=lambda one: one.answered)
    at, least = 0, None
    for one in sorted(purchases, key=lambda one: one.sent):
        while at < len(by_answer) and by_answer[at].answered < one.sent:
            before = by_answer[at].before
            least = before if least is None else min(least, before)
            at += 1
        if least is not None and one.before >= least:
            wrong.append(f"{one.before} was seen after {least} had been answered")
    return wrong


def book_violations(books, stock, final):
    """H1 and H2 of one row that was sold out: each piece sold once, none twice, none lost."""
    befores = sorted(one.before for one in books)
    wrong = []
    if final != KEEP:
        wrong.append(f"{final} are left, not {KEEP}")
    if befores != list(range(KEEP + 1, stock + 1)):
        twice = [value for value, count in collections.Counter(befores).items() if count > 1]
        missing = set(range(KEEP + 1, stock + 1)) - set(befores)
        wrong.append(f"{len(befores)} sold of {stock - KEEP}; twice: {twice[:5]};"
                     f" never: {sorted(missing)[:5]}")
    return wrong


def crash_violations(sale, stock, final):
    """H6: what was acknowledged is taken, and nothing that nobody asked for."""
    acknowledged, unknown = len(applied(sale.books)), len(sale.unknown)
    taken = stock - final
    wrong = []
    if not acknowledged <= taken <= acknowledged + unknown:
        wrong.append(f"{taken} taken, {acknowledged} acknowledged, {unknown} unknown")
    befores = [one.before for one in applied(sale.books)]
    if len(set(befores)) != len(befores):
        wrong.append("a piece was sold twice")
    if befores and min(befores) <= final:
        wrong.append(f"{min(befores)} was sold, and {final} are left")
    return wrong


def jain(counts):
    """Jain's index of fairness (R. Jain et al., 1984): 1 when all are served alike."""
    total = sum(counts)
    return total * total / (len(counts) * sum(count * count for count in counts))
