"""Groups: all of their requests are done, or none of them."""

import threading

import pytest

import hs
from groups import APPLIED, NOT_DONE, add, failed, group, optional, required, stopped, take
from hs import OK, counted, refused, reply
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.fixture
def shop(sql, db, server):
    """A stock of two kinds, orders with AUTO_INCREMENT and two secondary keys; (client, stock, orders, sql)."""
    sql.run("CREATE TABLE stock (id INT PRIMARY KEY, stock INT NOT NULL, name VARCHAR(20), UNIQUE KEY (name)) ENGINE=InnoDB")
    sql.run("INSERT INTO stock VALUES (1, 2, 'hat'), (2, 5, 'shoe')")
    sql.run("CREATE TABLE orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user INT, item INT, note VARCHAR(40),"
            " UNIQUE KEY (note), KEY (user, id)) ENGINE=InnoDB")
    client = server.hs_wr()
    stock = client.opened(db, "stock", "", "stock", "stock")
    orders = client.opened(db, "orders", "", "user,item,note")
    return client, stock, orders, sql


def left(sql):
    return [int(row[0]) for row in sql.rows("SELECT stock FROM stock ORDER BY id")]


def purchase(shop, user, item=1, note=None):
    client, stock, orders, _ = shop
    return group(client, [required(stock, *take(stock, item)), required(orders, *add(user, item, note))])


def test_a_purchase_takes_and_writes_or_does_nothing(shop):
    sql = shop[3]
    assert purchase(shop, 7) == (APPLIED, [counted(1), reply(0, 1, 1)])
    assert purchase(shop, 8) == (APPLIED, [counted(1), reply(0, 1, 2)])
    assert purchase(shop, 9) == (stopped(1), [NOT_DONE] * 2)
    assert left(sql) == [0, 5]
    assert sql.rows("SELECT user FROM orders ORDER BY id") == [(b"7",), (b"8",)]


def test_an_error_takes_everything_back(shop):
    sql = shop[3]
    assert purchase(shop, 7, note="once")[0] == APPLIED
    assert purchase(shop, 8, note="once") == (failed(1, "121", 2), [NOT_DONE] * 2)
    assert left(sql) == [1, 5]
    assert sql.rows("SELECT user FROM orders") == [(b"7",)]


def test_an_optional_request_that_finds_nothing_goes_on(shop):
    client, stock, orders, sql = shop
    assert group(client, [optional(stock, *take(stock, 77)), required(orders, *add(1, 77, "x"))]) == (
        APPLIED, [counted(0), reply(0, 1, 1)])
    assert group(client, [required(orders, *add(1, 77, "y")), required(stock, *take(stock, 77))]) == (
        stopped(2), [NOT_DONE] * 2)
    assert sql.rows("SELECT note FROM orders") == [(b"x",)]


def test_requests_see_what_those_before_them_did(shop):
    client, stock, _, sql = shop
    find = ["=", 1, 2]
    assert group(client, [required(stock, *find), required(stock, *take(stock, 2, 3)), required(stock, *find),
                          required(stock, "=", 1, 2, 1, 0, "-?", 1), required(stock, *find)]) == (
        APPLIED, [reply(0, 1, 5), counted(1), reply(0, 1, 2), reply(0, 1, 2), reply(0, 1, 1)])
    assert left(sql) == [2, 1]


def test_one_row_by_two_names_of_its_key(shop, db):
    """By the primary key with and without zeros in front, by another unique index, and by a range."""
    client, stock, _, sql = shop
    by_name = client.opened(db, "stock", "name", "stock", "stock")
    assert group(client, [required(stock, "=", 1, "2", 1, 0, "-", 1), required(stock, "=", 1, "02", 1, 0, "-", 1),
                          required(by_name, "=", 1, "shoe", 1, 0, "-", 1), required(stock, ">", 1, "1", 9, 0, "-", 1)]) == (
        APPLIED, [counted(1)] * 4)
    assert left(sql) == [2, 1]
    assert group(client, [required(stock, "=", 1, "2", 1, 0, "+", 1), required(by_name, "=", 1, "shoe", 1, 0, "+", 5),
                          required(stock, "=", 1, "77", 1, 0, "+", 1)]) == (stopped(3), [NOT_DONE] * 3)
    assert left(sql) == [2, 1]


def test_a_group_that_only_finds_is_served_by_every_port(shop, db, server):
    for client in (shop[0], server.hs_rd()):
        stock = client.opened(db, "stock", "", "name,stock")
        assert group(client, [required(stock, "=", 1, 1), optional(stock, "=", 1, 77), required(stock, ">", 1, 0, 9)]) == (
            APPLIED, [reply(0, 2, "hat", 2), reply(0, 2), reply(0, 2, "hat", 2, "shoe", 5)])
        assert group(client, [required(stock, "=", 1, 77), required(stock, "=", 1, 1)]) == (stopped(1), [NOT_DONE] * 2)
    read_only = server.hs_rd()
    stock = read_only.opened(db, "stock", "", "stock", "stock")
    assert group(read_only, [required(stock, "=", 1, 1), required(stock, *take(stock, 1))]) == (
        failed(2, "readonly", 2), [NOT_DONE] * 2)


def test_the_connection_stays_in_step_whatever_is_wrong(shop):
    client, stock, orders, sql = shop
    right = required(stock, *take(stock, 1))
    assert group(client, [right, ["R", "P", 9, "x", "y"]]) == (failed(2, "group", 2), [NOT_DONE] * 2)
    assert group(client, [right, ["X", 1, "=", 1, 1]]) == (failed(2, "group", 2), [NOT_DONE] * 2)
    assert group(client, [right, ["R", 55, "=", 1, 1]]) == (failed(2, "stmtnum", 2), [NOT_DONE] * 2)
    assert group(client, [["R", "G", 1], right]) == (failed(2, "group", 1), [NOT_DONE] * 2)
    assert group(client, [required(orders, *add(1, 1, "x" * 70)), right])[0].code == 1
    for count in (0, 65, "x", "", -1):
        assert client.request("G", count) == failed(2, "group", 0)
    assert client.request(*right) == refused(2, "cmd")
    assert client.request("H", "group") == OK
    assert left(sql) == [2, 5] and sql.value("SELECT COUNT(*) FROM orders") == b"0"
    assert group(client, [right]) == (APPLIED, [counted(1)])


def test_a_group_in_pieces_is_one_group(shop):
    client, stock, orders, sql = shop
    data = b"".join(hs.line(*tokens) for tokens in (
        ["G", 2], required(stock, *take(stock, 1)), required(orders, *add(1, 1, "piece"))))
    for byte in data:
        client.send_raw(bytes((byte,)))
    assert [client.recv() for _ in range(3)] == [APPLIED, counted(1), reply(0, 1, 1)]
    client.send_raw(data[:-5])
    client.close()
    assert left(sql) == [1, 5]


def test_a_group_larger_than_a_line_is_refused_and_its_lines_are_not_executed(make_server):
    server = make_server(options=["--handlersocket-line-max-bytes=4096"])
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, v VARCHAR(3000))")
    client = server.hs_wr()
    index = client.opened("g", "t", "", "id,v")
    answer, others = group(client, [required(index, *add(number, "x" * 2000)) for number in range(4)])
    assert answer == failed(2, "linelen", 0) and others == [NOT_DONE] * 4
    assert sql.value("SELECT COUNT(*) FROM g.t") == b"0"
    assert group(client, [required(index, *add(1, "x"))])[0] == APPLIED


def test_many_groups_in_flight_keep_their_order(shop):
    client, stock, orders, sql = shop
    sql.run("UPDATE stock SET stock = 100")
    lines = []
    for number in range(150):
        lines += [["G", 2], required(stock, *take(stock, 1)), required(orders, *add(number, 1, None)),
                  [stock.id, "=", 1, 2, 1, 0, "-", 0]]
    answers = client.pipeline(lines)
    assert [answers[at] for at in range(0, 600, 4)] == [APPLIED] * 100 + [stopped(1)] * 50
    assert all(answer == counted(1) for answer in answers[3::4])
    assert left(sql) == [0, 100]
    assert sql.rows("SELECT user FROM orders ORDER BY id") == [(b"%d" % number,) for number in range(100)]


def test_a_member_that_fails_leaves_the_others_of_its_batch(shop, server, db):
    _, _, _, sql = shop
    sql.run("UPDATE stock SET stock = 1000")
    clients = []
    for number in range(40):
        client = server.hs_wr()
        stock = client.opened(db, "stock", "", "stock", "stock")
        orders = client.opened(db, "orders", "", "user,item,note")
        clients.append(client)
        for turn in range(5):
            note = "same" if number % 4 == 0 else f"{number}-{turn}"
            client.send_raw(b"".join(hs.line(*tokens) for tokens in (
                ["G", 2], required(stock, *take(stock, 1)), required(orders, *add(number, 1, note)))))
    answers = [[client.recv() for _ in range(15)][::3] for client in clients]
    applied = sum(answer == APPLIED for each in answers for answer in each)
    assert applied == 151 and all(answer in (APPLIED, failed(1, "121", 2)) for each in answers for answer in each)
    assert left(sql) == [1000 - applied, 1000]
    assert int(sql.value("SELECT COUNT(*) FROM orders")) == applied


@pytest.mark.mariadb("in MySQL such tables are not opened: test_mysql_writes.py")
def test_rows_of_an_engine_without_transactions_are_refused(shop, db):
    client, stock, _, sql = shop
    sql.run("CREATE TABLE plain (id INT PRIMARY KEY) ENGINE=MyISAM")
    assert client.open_index(2, db, "plain", "", "id") == OK
    assert group(client, [required(stock, *take(stock, 1)), ["R", 2, "+", 1, 1]]) == (
        failed(2, "group", 2), [NOT_DONE] * 2)
    assert left(sql) == [2, 5] and sql.rows("SELECT * FROM plain") == []


def waiting_purchase(shop, server, db, after_stock=False):
    """A purchase in the lane, which waits for its user's row: the SQL connection that has locked that row.
    `after_stock`: it has waited for the stock's row before."""
    client, stock, orders, sql = shop
    sql.run("CREATE TABLE users (id INT PRIMARY KEY, bought INT NOT NULL)")
    sql.run("INSERT INTO users VALUES (1, 0), (2, 0)")
    sql.run("UPDATE stock SET stock = 100")
    users = client.opened(db, "users", "", "bought")
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("SELECT * FROM users WHERE id = 1 FOR UPDATE")
    first = server.sql(db)
    first.run("BEGIN")
    if after_stock:
        first.run("SELECT * FROM stock WHERE id = 1 FOR UPDATE")
    before = sql.status("Handlersocket_lock_waits")
    lines = [["G", 3], required(stock, *take(stock, 1)), required(users, "=", 1, 1, 1, 0, "+", 1),
             required(orders, *add(1, 1, "waits"))]
    client.send_raw(b"".join(hs.line(*tokens) for tokens in lines))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") > before, 20, "the wait")
    first.run("ROLLBACK")
    return locker


@pytest.mark.parametrize("after_stock", (False, True))
def test_a_row_that_sql_has_locked_is_waited_for_and_holds_up_no_other_group(shop, server, db, after_stock):
    """A purchase waits for its user's row; the stock's row stays free for the others meanwhile."""
    client, _, _, sql = shop
    locker = waiting_purchase(shop, server, db, after_stock)
    # The lane has met the user's row when the stock's row is free again.
    probe = server.sql(db)
    wait_until(lambda: probe.rows("SELECT 1 FROM stock WHERE id = 1 FOR UPDATE SKIP LOCKED") != [], 20, "the row is free")
    other = server.hs_wr()
    theirs = [other.opened(db, "stock", "", "stock", "stock"), other.opened(db, "users", "", "bought")]
    for _ in range(50):
        assert group(other, [required(theirs[0], *take(theirs[0], 1)),
                             required(theirs[1], "=", 1, 2, 1, 0, "+", 1)])[0] == APPLIED
    assert left(sql) == [50, 100]
    locker.run("ROLLBACK")
    assert [client.recv() for _ in range(4)] == [APPLIED, counted(1), counted(1), reply(0, 1, 1)]
    assert left(sql) == [49, 100]
    assert sql.rows("SELECT bought FROM users ORDER BY id") == [(b"1",), (b"50",)]


def test_no_group_waits_for_a_table_while_it_holds_the_hot_row(shop, server, db):
    """The lane meets a table that SQL has locked: it gives the stock's row back before it waits."""
    client, _, _, sql = shop
    locker, holder = waiting_purchase(shop, server, db), server.sql(db)
    holder.run("LOCK TABLES orders WRITE")
    locker.run("ROLLBACK")
    other = server.hs_wr()
    theirs = other.opened(db, "stock", "", "stock", "stock")
    for _ in range(50):
        assert group(other, [required(theirs, *take(theirs, 1))])[0] == APPLIED
    holder.run("UNLOCK TABLES")
    assert [client.recv() for _ in range(3)] == [APPLIED, counted(1), counted(1)]
    assert client.recv()[:2] == reply(0, 1, 1)[:2]
    assert left(sql) == [49, 100]


def test_a_guard_is_read_under_lock_while_ddl_waits(shop, server, db):
    """The table can be read and not be opened for writing: its row is waited for all the same."""
    client, _, orders, sql = shop
    sql.run("CREATE TABLE gate (id INT PRIMARY KEY, open INT NOT NULL)")
    sql.run("INSERT INTO gate VALUES (1, 1)")
    closes, alters = server.sql(db), server.sql(db)
    closes.run("BEGIN")
    closes.run("UPDATE gate SET open = 0 WHERE id = 1")
    ddl = threading.Thread(
        target=lambda: alters.run("ALTER TABLE gate MODIFY open BIGINT NOT NULL, ALGORITHM=COPY"))
    ddl.start()
    waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE STATE LIKE '%metadata lock'"
    wait_until(lambda: int(sql.value(waiting)) == 1, 20, "the ALTER")
    gate = client.opened(db, "gate", "", "open", "open")
    lines = [["G", 2], required(gate, "=", 1, 1, 1, 0, "F", "=", 0, 1), required(orders, *add(1, 1, "late"))]
    before = sql.status("Handlersocket_lock_waits")
    client.send_raw(b"".join(hs.line(*tokens) for tokens in lines))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") > before, 20, "the wait")
    closes.run("COMMIT")
    ddl.join()
    assert client.recv() != APPLIED
    assert sql.rows("SELECT * FROM orders") == []


def test_a_wait_that_takes_too_long_answers_the_group(make_server):
    server = make_server(options=["--innodb-lock-wait-timeout=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, n INT NOT NULL)")
    sql.run("INSERT INTO g.t VALUES (1, 0), (2, 0)")
    locker = server.sql("g")
    locker.run("BEGIN")
    locker.run("UPDATE t SET n = 1 WHERE id = 2")
    client = server.hs_wr()
    index = client.opened("g", "t", "", "n")
    assert group(client, [required(index, "=", 1, 1, 1, 0, "+", 1), required(index, "=", 1, 2, 1, 0, "+", 1)]) == (
        failed(1, "146", 2), [NOT_DONE] * 2)
    locker.run("ROLLBACK")
    assert sql.rows("SELECT n FROM g.t") == [(b"0",), (b"0",)]


def raw(lines):
    return b"".join(hs.line(*tokens) for tokens in lines)


def product_that_sql_has_locked(server):
    """(a client, its orders and lines, the SQL connection that has locked product 3): a line refers to its order, whose
    foreign key is checked first, and to its product."""
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.orders (id INT PRIMARY KEY) ENGINE=InnoDB")
    sql.run("CREATE TABLE g.products (id INT PRIMARY KEY) ENGINE=InnoDB")
    sql.run("CREATE TABLE g.order_lines (id INT PRIMARY KEY, order_id INT, product_id INT,"
            " CONSTRAINT a_order FOREIGN KEY (order_id) REFERENCES orders (id),"
            " CONSTRAINT b_product FOREIGN KEY (product_id) REFERENCES products (id)) ENGINE=InnoDB")
    sql.run("INSERT INTO g.products VALUES (3)")
    locker = server.sql("g")
    locker.run("BEGIN")
    locker.run("SELECT * FROM products WHERE id = 3 FOR UPDATE")
    client = server.hs_wr()
    order_lines = client.opened("g", "order_lines", "", "id,order_id,product_id")
    return client, client.opened("g", "orders", "", "id"), order_lines, locker


def test_a_lock_that_a_request_meets_only_after_the_others_is_waited_for(make_server):
    """By itself the line has no order: its foreign key fails before it meets the product's lock."""
    client, orders, order_lines, locker = product_that_sql_has_locked(make_server())
    client.send_raw(raw([["G", 2], required(orders, *add(7)), required(order_lines, *add(1, 7, 3))]))
    assert not client.readable(1), "answered although the product is locked"
    locker.run("ROLLBACK")
    assert [client.recv() for _ in range(3)] == [APPLIED, OK, OK]
    assert locker.rows("SELECT id, order_id, product_id FROM order_lines") == [(b"1", b"7", b"3")]


def test_a_lock_that_is_met_only_after_the_others_is_waited_for_as_long_as_others(make_server):
    server = make_server(options=["--innodb-lock-wait-timeout=1"])
    client, orders, order_lines, locker = product_that_sql_has_locked(server)
    assert group(client, [required(orders, *add(7)), required(order_lines, *add(1, 7, 3))]) == (
        failed(1, "146", 2), [NOT_DONE] * 2)
    locker.run("ROLLBACK")
    assert locker.rows("SELECT * FROM orders") == []


def test_a_unique_key_that_the_group_frees_itself_hides_no_lock(shop, server, db):
    client, _, _, sql = shop
    sql.run("CREATE TABLE two (id INT PRIMARY KEY, u INT, v INT, UNIQUE KEY (u), UNIQUE KEY (v)) ENGINE=InnoDB")
    sql.run("INSERT INTO two VALUES (1, 5, 50)")
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("INSERT INTO two VALUES (2, 6, 60)")
    two = client.opened(db, "two", "", "id,u,v")
    client.send_raw(raw([["G", 2], required(two, "=", 1, 1, 1, 0, "D"), required(two, *add(1, 5, 60))]))
    assert not client.readable(1), "answered although the value of v is locked"
    locker.run("ROLLBACK")
    assert [client.recv() for _ in range(3)] == [APPLIED, counted(1), OK]
    assert sql.rows("SELECT id, u, v FROM two") == [(b"1", b"5", b"60")]


def test_a_group_with_a_token_takes_effect_once(make_server):
    server = make_server(options=["--handlersocket-tokens=ON"])
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.stock (id INT PRIMARY KEY, stock INT NOT NULL)")
    sql.run("INSERT INTO g.stock VALUES (1, 2)")
    sql.run("CREATE TABLE g.orders (id INT AUTO_INCREMENT PRIMARY KEY, user INT NOT NULL)")
    client = server.hs_wr()
    stock = client.opened("g", "stock", "", "stock", "stock")
    orders = client.opened("g", "orders", "", "user")

    def buy(token, user=7, on=client):
        return group(on, [required(stock, *take(stock, 1)), required(orders, *add(user))], token)

    first = (APPLIED, [counted(1), reply(0, 1, 1)])
    assert [buy("one") for _ in range(3)] == [first] * 3
    assert buy("one", user=8) == (failed(1, "tokendiffers", 0), [NOT_DONE] * 2)
    assert buy("two")[0] == APPLIED
    assert buy("three") == (stopped(1), [NOT_DONE] * 2)
    sql.run("UPDATE g.stock SET stock = 1")
    assert buy("three")[0] == APPLIED, "a group that has stopped keeps no token"
    assert sql.value("SELECT COUNT(*) FROM rowsocket.tokens") == b"3"
    assert sql.rows("SELECT id, stock FROM g.stock") == [(b"1", b"0")]
    assert sql.value("SELECT COUNT(*) FROM g.orders") == b"3"
    assert group(client, [required(stock, "=", 1, 1)], "finds") == (failed(2, "token", 0), [NOT_DONE])


def test_what_became_of_a_token_can_be_asked(make_server):
    server = make_server(options=["--handlersocket-tokens=ON"])
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, n INT NOT NULL)")
    sql.run("INSERT INTO g.t VALUES (1, 5)")
    client = server.hs_wr()
    index = client.opened("g", "t", "", "n")
    take_one = hs.find_words(index.id, "=", [1], 1, 0, mod=["-?", 1])
    assert client.request("T", "one", "?") == reply(0, 2, "unknown", 0)
    assert client.request("T", "one", *take_one) == reply(0, 1, 5)
    assert client.request("T", "one", "?") == reply(0, 2, "done", 1) and client.recv() == reply(0, 1, 5)
    assert client.request("T", "one", "!") == reply(0, 2, "done", 1) and client.recv() == reply(0, 1, 5)
    answers = client.pipeline([["T", "two", "G", 2], required(index, "=", 1, 1, 1, 0, "-", 1), required(index, "=", 1, 1)])
    server.kill()
    server.start()
    client = server.hs_wr()
    index = client.opened("g", "t", "", "n")
    assert client.request("T", "two", "?") == reply(0, 2, "done", 3)
    assert [client.recv() for _ in range(3)] == answers == [APPLIED, counted(1), reply(0, 1, 3)]
    assert client.request("T", "three", "!") == reply(0, 2, "never", 0)
    assert client.request("T", "three", *take_one) == refused(1, "tokendiffers")
    assert client.request("T", "three", "?") == reply(0, 2, "never", 0)
    assert server.hs_rd().request("T", "one", "?") == refused(2, "readonly")
    assert client.request("T", "", "?") == refused(2, "token")
    assert server.sql().value("SELECT n FROM g.t") == b"3"



def test_an_account_without_a_privilege_is_denied_the_whole_group(make_server):
    import logins
    server = make_server(options=logins.OPTIONS)
    sql = logins.prepare(server)
    sql.run("CREATE TABLE g.other (id INT PRIMARY KEY, n INT)")
    sql.run("CREATE USER half@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT SELECT, INSERT, UPDATE ON g.t TO half@'127.%'")
    sql.run("GRANT SELECT ON g.other TO half@'127.%'")
    client, answer = logins.log_in(server, "half", "right")
    assert answer == OK
    mine, other = client.opened("g", "t", "", "id,v"), client.opened("g", "other", "", "id,n")
    assert group(client, [required(mine, *add(5, "x")), required(other, *add(5, 5))]) == (
        failed(3, "denied", 2), [NOT_DONE] * 2)
    assert sql.rows("SELECT id FROM g.t") == [(b"1",)]
    assert group(client, [required(mine, *add(5, "x")), required(mine, "=", 1, 5)])[0] == APPLIED
    stranger = logins.connect(server)
    assert stranger.pipeline([["G", 1], ["R", 1, "=", 1, 1]]) == [failed(3, "unauth", 0), NOT_DONE]
