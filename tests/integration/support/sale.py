"""A flash sale: many connections take from the stock of one row, and books keep their answers.

Every buyer sends a conditional decrement that asks for the value before it, again and again until
the row is sold out. One thread plays all buyers, so that its clock orders requests and answers:
book entries are (sent, answered, value before) with one time for all connections.
"""

import collections
import resource
import select
import socket
import ssl
import struct
import threading
import time

import hs
import mc
from server import wait_until

# Errors that plain and TLS sockets raise if they cannot receive or send at this moment.
NOTHING_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
KEEP = 3  # the stock that the condition leaves


def make_table(sql, db, stock, rows=1):
    sql.run(f"CREATE DATABASE IF NOT EXISTS {db}")
    sql.run(f"CREATE TABLE {db}.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    for row in range(1, rows + 1):
        sql.run(f"INSERT INTO {db}.stock VALUES (%s, %s)", row, stock)


def make_counter(server, db):
    """Makes the table a container of memcached, with the same name as the schema."""
    server.sql().run(
        "REPLACE INTO innodb_memcache.containers (name, db_schema, db_table, key_columns,"
        " value_columns, flags, cas_column, expire_time_column, unique_idx_name_on_key)"
        " VALUES (%s, %s, 'stock', 'id', 'stock', '0', '0', '0', 'PRIMARY')", db, db)
    with mc.connect(server) as client:
        wait_until(lambda: client.command(f"mg @@{db}.?") == b"EN", 10, f"container {db}")


def allow_connections(count):
    """Raises the limit of open files of this process as far as allowed."""
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
    """One connection with up to `depth` requests under way, over HandlerSocket."""

    port = "HS_PORT_WR"

    def __init__(self, number, server, db, row, depth):
        self.number, self.row, self.depth = number, row, depth
        self.sock = socket.create_connection(("127.0.0.1", int(server.env[self.port])), timeout=30)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hs.TLS:
            self.sock = hs.TLS.wrap_socket(self.sock)
        self.under_way = collections.deque()
        self.data = b""
        self.sold_out = False
        self.request = self.begin(db)
        self.sock.setblocking(False)

    def begin(self, db):
        """Prepares the connection. Returns the request that every purchase sends."""
        self.sock.sendall(hs.line(*hs.open_words(0, db, "stock", "PRIMARY", "stock", "stock")))
        answer = b""
        while not answer.endswith(b"\n"):
            part = self.sock.recv(4096)
            assert part, "closed while opening"
            answer += part
        assert hs.parse(answer[:-1]) == hs.OK, answer
        return hs.line(*hs.find_words(0, "=", [self.row], 1, 0, filters=[("F", ">", 0, KEEP)],
                                      mod=["-?", 1]))

    def answers(self, part):
        """(value before or None, error line or None) of each answer that is complete by now."""
        *lines, self.data = (self.data + part).split(b"\n")
        for line in lines:
            if line.startswith(b"0\t1\t"):
                yield int(line[4:]), None
            else:
                yield None, None if line == b"0\t1" else line


class CounterBuyer(Buyer):
    """A buyer over memcached: `ma` with the guard, whose answer is the value after the purchase."""

    port = "MEMCACHED_PORT"

    def begin(self, db):
        return b"ma @@%s.%d MD D1 G%d v\r\n" % (db.encode(), self.row, KEEP)

    def answers(self, part):
        self.data += part
        while b"\r\n" in self.data:
            line, _, rest = self.data.partition(b"\r\n")
            if line.startswith(b"VA "):
                value, end, rest = rest.partition(b"\r\n")
                if not end:
                    return
                yield int(value) + 1, None
            else:
                yield None, None if line == b"NS" else line
            self.data = rest


class Sale:
    """Plays buyers against one server.

        sale = Sale(server, db, connections=64)
        sale.play(until=lambda sale: sale.taken >= 1000)
        sale.books, sale.unknown, sale.errors
    """

    def __init__(self, server, db, connections, depth=1, rows=1, buyers=Buyer):
        allow_connections(connections)
        self.server = server
        self.books = []      # answered requests, in the order of the answers
        self.unknown = []    # sent requests that have no answer because the connection ended
        self.errors = collections.Counter()
        self.error_replies = 0
        self.taken = 0
        self.poll = select.epoll()
        self.buyers = {}
        for number in range(connections):
            buyer = buyers(number, server, db, 1 + number % rows, depth)
            self.buyers[buyer.sock.fileno()] = buyer
        for buyer in self.buyers.values():
            self.poll.register(buyer.sock.fileno(), select.EPOLLIN)
        self.active = len(self.buyers)

    def play(self, until=lambda sale: False, timeout_s=120):
        """Plays until every buyer has been told that all is sold out, or `until` returns true."""
        deadline = time.monotonic() + timeout_s
        for buyer in list(self.buyers.values()):
            self.send(buyer)
        while self.active and not until(self):
            assert time.monotonic() < deadline, f"{self.taken} taken, {self.active} still buy"
            for descriptor, _ in self.poll.poll(5):
                self.receive(self.buyers[descriptor])

    def play_until_killed(self, server, goal, delay_s, seconds_max=float("inf")):
        """Plays until `goal` pieces are taken or the time is up, and goes on while a SIGKILL comes a given
        time later, so that it meets the server at work. Ends when every connection has ended."""
        deadline = time.monotonic() + seconds_max
        self.play(lambda sale: sale.taken >= goal or time.monotonic() > deadline)
        killer = threading.Timer(delay_s, server.strike)
        killer.start()
        try:
            self.play()
        finally:
            killer.join()
            server.kill()

    def leave(self, buyer):
        """Ends the connection with a TCP reset, whether requests are under way or not."""
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
        except NOTHING_NOW:
            return
        except (ConnectionError, OSError):
            part = b""
        if not part:
            self.end(buyer)
            return
        now = time.monotonic()
        for before, error in buyer.answers(part):
            self.settle(buyer, before, error, now)
        if not buyer.sold_out:
            self.send(buyer)
        elif not buyer.under_way:
            self.end(buyer)

    def settle(self, buyer, before, error, now):
        purchase = buyer.under_way.popleft()
        purchase.answered, purchase.before = now, before
        if error is not None:
            self.errors[error] += 1
            self.error_replies += 1
            return
        self.taken += before is not None
        buyer.sold_out |= before is None
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


def applied(books):
    return [one for one in books if one.before is not None]


def of_row(books, row):
    return [one for one in books if one.buyer.row == row]


def order_violations(books):
    """H3, for all answers about one row: a buyer who was answered before another buyer asked must have seen more stock
    than the other. "Not applied" means that only KEEP was left: no buyer who asks after that answer may take a
    piece."""
    wrong = []
    by_answer = sorted(books, key=lambda one: one.answered)
    at, least = 0, float("inf")
    for one in sorted(books, key=lambda one: one.sent):
        while at < len(by_answer) and by_answer[at].answered < one.sent:
            before = by_answer[at].before
            least = min(least, KEEP if before is None else before)
            at += 1
        if one.before is not None and one.before >= least:
            wrong.append(f"{one.before} was seen after {least} had been answered")
    return wrong


def book_violations(books, stock, final):
    """H1 and H2 of one row that was sold out: each piece is sold once, none twice, and none is lost."""
    befores = sorted(one.before for one in applied(books))
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
    """H3, and H6: acknowledged pieces are taken, and no piece without a request."""
    acknowledged, unknown = len(applied(sale.books)), len(sale.unknown)
    refused, taken = len(sale.books) - acknowledged, stock - final
    wrong = order_violations(sale.books)
    if refused and final > KEEP:
        wrong.append(f"{refused} were refused, and {final} are left")
    if not acknowledged <= taken <= acknowledged + unknown:
        wrong.append(f"{taken} taken, {acknowledged} acknowledged, {unknown} unknown")
    befores = [one.before for one in applied(sale.books)]
    if len(set(befores)) != len(befores):
        wrong.append("a piece was sold twice")
    if befores and min(befores) <= final:
        wrong.append(f"{min(befores)} was sold, and {final} are left")
    return wrong


def error_violations(sale):
    """The violations of a sale in which no request may fail."""
    return [f"answered {line!r}" for line in sale.errors]


def killed_sale(server, rng, db, goal, buyers=Buyer, stock=100_000_000,
                connections=(1, 8, 64, 512), then=lambda server: None, seconds_max=float("inf")):
    """Plays a sale that ends with a SIGKILL at a random moment after the first `goal` pieces, calls then(server), and
    restarts. Returns the violations, and the sale."""
    sql = server.sql()
    # Flushed, so that the table survives the crash, however rarely the server flushes during the sale.
    flush = sql.value("SELECT @@global.innodb_flush_log_at_trx_commit").decode()
    sql.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    make_table(sql, db, stock)
    if buyers is CounterBuyer:
        make_counter(server, db)
    sql.run("FLUSH ENGINE LOGS")
    sql.run(f"SET GLOBAL innodb_flush_log_at_trx_commit = {flush}")
    sale = Sale(server, db, rng.choice(connections), depth=rng.choice((1, 1, 4)), buyers=buyers)
    try:
        sale.play_until_killed(server, goal, rng.choice((0, rng.uniform(0, 0.03))), seconds_max)
    finally:
        sale.close()
    then(server)
    server.start()
    rows = server.sql().rows(f"SELECT stock FROM {db}.stock WHERE id = 1")
    if not rows:
        return ["the row is lost"], sale
    return crash_violations(sale, stock, int(rows[0][0])) + error_violations(sale), sale


def jain(counts):
    """Jain's index of fairness (R. Jain et al., 1984): 1 when all buyers are served alike."""
    total = sum(counts)
    return total * total / (len(counts) * sum(count * count for count in counts))
