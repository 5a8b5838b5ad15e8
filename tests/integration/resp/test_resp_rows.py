"""Rows as hashes over RESP: keys, fields, replies of both versions of the protocol, errors."""

import pytest
import redis

from resp import Client, Error

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.fixture
def sql(server):
    sql = server.sql("shop")
    yield sql
    sql.run("DELETE FROM product WHERE id NOT IN (7, 8)")
    sql.run("DELETE FROM line WHERE a <> 1")
    sql.run("REPLACE INTO product VALUES (7, 'Teapot', 24.90, 5, 'T-7'), (8, 'Cup', NULL, 0, 'C:8')")
    sql.close()


@pytest.fixture
def client(server, sql):  # pylint: disable=unused-argument # its end puts the rows back
    client = Client(server.resp_port)
    yield client
    client.close()


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_is_a_hash_of_its_columns(server, version):
    client = Client(server.resp_port, version)
    fields = {b"name": b"Teapot", b"price": b"24.90", b"stock": b"5", b"sku": b"T-7"}
    flat = [text for pair in fields.items() for text in pair]
    for key in ("product:7", "shop.product:7", "product@by_sku:T-7"):
        found = client.ask("HGETALL", key)
        if key.endswith("T-7"):  # its key is another column
            wanted = {name: value for name, value in fields.items() if name != b"sku"} | {b"id": b"7"}
            found = found if version == 3 else dict(zip(found[::2], found[1::2]))
            assert found == wanted
        else:
            assert found == (fields if version == 3 else flat)
    assert client.ask("HGET", "product:7", "name") == b"Teapot"
    assert client.ask("HMGET", "product:7", "stock", "name", "stock") == [b"5", b"Teapot", b"5"]
    assert client.ask("HKEYS", "product:7") == list(fields) and client.ask("HVALS", "product:7") == list(fields.values())
    assert client.ask("HLEN", "product:8") == 3
    assert client.ask("HSTRLEN", "product:7", "name") == 6
    assert client.ask("TYPE", "product:7") == "hash"
    assert client.ask("HSCAN", "product:7", 0, "MATCH", "s[t-u]o*") == [b"0", [b"stock", b"5"]]
    assert client.ask("HSCAN", "product:7", 0, "MATCH", "[^n-s]*", "COUNT", 5, "NOVALUES") == [b"0", []]
    assert client.ask("HSCAN", "product:99", 0) == [b"0", []] and client.ask("HSCAN", "product:7", "x") == Error("ERR invalid cursor")
    assert [client.ask(command, "product:7") for command in ("TTL", "PTTL", "EXPIRETIME", "PERSIST")] == [-1, -1, -1, 0]


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_that_is_not_there(server, version):
    client = Client(server.resp_port, version)
    assert client.ask("HGETALL", "product:99") == ({} if version == 3 else [])
    assert client.ask("HGET", "product:99", "name") is None
    assert client.ask("HMGET", "product:99", "name", "stock") == [None, None]
    assert client.ask("HKEYS", "product:99") == []
    for command in ("HLEN", "EXISTS", "DEL"):
        assert client.ask(command, "product:99") == 0
    assert client.ask("TYPE", "product:99") == "none" and client.ask("TTL", "product:99") == -2
    assert client.ask("HDEL", "product:99", "name") == 0


def test_null_is_an_absent_field(client, sql):
    assert client.ask("HGET", "product:8", "price") is None
    assert client.ask("HEXISTS", "product:8", "price") == 0 and client.ask("HEXISTS", "product:8", "name") == 1
    assert b"price" not in client.ask("HGETALL", "product:8")
    assert client.ask("HSETNX", "product:8", "price", "3.50") == 1
    assert client.ask("HSETNX", "product:8", "price", "4.50") == 0
    assert client.ask("HDEL", "product:8", "price", "name", "price") == 2
    assert sql.rows("SELECT name, price, stock FROM product WHERE id = 8") == [(None, None, b"0")]
    assert client.ask("HDEL", "product:8", "stock").startswith("CONSTRAINT")


def test_hset_inserts_and_changes(client, sql):
    assert client.ask("HSET", "product:20", "name", "Pot", "price", "2.5") == 2
    assert client.ask("HSET", "product:20", "name", "Pan", "sku", "P") == 1
    assert client.ask("HMSET", "product:20", "stock", "3") == "OK"
    assert sql.rows("SELECT name, price, stock, sku FROM product WHERE id = 20") == [(b"Pan", b"2.50", b"3", b"P")]
    assert client.ask("HSET", "product:20", "name", "a", "name", "b") == 0
    assert client.ask("HGET", "product:20", "name") == b"b"
    assert client.ask("DEL", "product:20", "product:21") == 1
    assert sql.rows("SELECT 1 FROM product WHERE id = 20") == []


def test_hset_pads_and_trims_as_insert_does(client, sql):
    sql.run("CREATE TABLE shop.padded (id INT PRIMARY KEY, b BINARY(3), c CHAR(3))")
    assert client.ask("HSET", "padded:1", "b", "x", "c", "y ") == 2 and client.ask("HSETNX", "padded:2", "b", "") == 1
    sql.run("INSERT INTO shop.padded VALUES (3, 'x', 'y '), (4, '', NULL)")
    ours, theirs = (sql.rows(f"SELECT HEX(b), HEX(c) FROM shop.padded WHERE id IN ({ids}) ORDER BY id") for ids in ("1, 2", "3, 4"))
    assert ours == theirs == [(b"780000", b"79"), (b"000000", None)]
    assert client.ask("HSET", "padded:1", "b", "xxxx").startswith("CONSTRAINT")


def test_hincrby(client, sql):
    assert client.ask("HINCRBY", "product:7", "stock", -2) == 3
    assert client.ask("HINCRBY", "product:99", "stock", 1).startswith("NOROW")
    assert client.ask("HINCRBY", "product:7", "name", 1) == Error("ERR hash value is not an integer")
    assert client.ask("HINCRBY", "product:7", "stock", "x") == Error("ERR value is not an integer or out of range")
    assert client.ask("HINCRBY", "product:7", "stock", 2 ** 31).startswith("CONSTRAINT")
    sql.run("CREATE TABLE big (id INT PRIMARY KEY, n BIGINT)")
    sql.run("INSERT INTO big VALUES (1, 9223372036854775807), (2, NULL)")
    assert client.ask("HINCRBY", "big:1", "n", 1) == Error("ERR increment or decrement would overflow")
    assert client.ask("HINCRBY", "big:2", "n", 5) == 5
    sql.run("DROP TABLE big")


def test_hincrbyfloat_is_exact_or_refused(client, sql):
    def add(key, field, by):
        return client.ask("HINCRBYFLOAT", key, field, by)

    assert add("product:7", "price", "0.1") == b"25" and add("product:7", "price", "-0.01") == b"24.99"
    assert add("product:7", "price", "1e1") == b"34.99" and add("product:7", "price", "+5") == b"39.99"
    assert sql.value("SELECT price FROM product WHERE id = 7") == b"39.99"
    assert add("product:8", "price", "1.5") == b"1.5", "NULL is 0"
    for field, by in (("price", "0.001"), ("stock", "0.5")):
        assert add("product:7", field, by).startswith("CONSTRAINT the column has not as many digits"), field
    assert add("product:7", "name", "1") == Error("ERR hash value is not a float")
    assert add("product:7", "price", "x") == Error("ERR value is not a valid float")
    assert add("product:99", "price", "1").startswith("NOROW")
    assert sql.rows("SELECT price, stock FROM product WHERE id = 7") == [(b"39.99", b"5")]


def test_a_name_of_digits_is_no_number_of_an_index(client, sql):
    sql.run("CREATE TABLE code (id INT PRIMARY KEY, a INT, b INT, UNIQUE KEY `0` (a), UNIQUE KEY `1st` (b))"
            " ENGINE=InnoDB")
    sql.run("INSERT INTO code VALUES (1, 2, 3), (2, 9, 1)")
    for key in ("code:1", "code@0:2", "code@1st:3"):
        assert client.ask("HGET", key, "id") == b"1", key
    assert client.ask("HGETALL", "code@1:9").startswith("NOTABLE the table has no index of this name")
    assert client.ask("HSET", "code@0:2", "b", 4) == 0
    assert sql.rows("SELECT b FROM code WHERE id = 1") == [(b"4",)]
    sql.run("DROP TABLE code")


def test_a_part_of_a_key_finds_and_deletes_nothing(client, sql):
    """Nor does a key of an index that is not unique."""
    sql.run("CREATE TABLE tag (id INT PRIMARY KEY, word VARCHAR(10), n INT, KEY by_word (word)) ENGINE=InnoDB")
    sql.run("INSERT INTO tag VALUES (1, 'tea', 5)")
    partial = "NOROW the key has not one value for each column"
    not_unique = "NOTSERVED a key of an index that is not unique names no row"
    for key, field, why in (("line:1", "n", partial), ("tag@by_word:tea", "n", not_unique)):
        for command in (["HGET", key, field], ["HGETALL", key], ["EXISTS", key], ["DEL", key], ["WATCH", key],
                        ["HINCRBY", key, field, 1], ["HSET", key, field, 1]):
            assert client.ask(*command).startswith(why), command
        assert client.ask("UNWATCH") == "OK"
        required = client.transaction(["ROW.REQUIRE", key, field, ">=", 1], ["HSET", "product:7", "stock", 1])
        assert required.startswith(f"EXECABORT undone: command 1: {why}"), required
    assert sql.rows("SELECT a, n FROM line") == [(b"1", b"3")] and sql.rows("SELECT n FROM tag") == [(b"5",)]
    sql.run("DROP TABLE tag")


def test_keys(client, sql):
    assert client.ask("HGET", "line:1:x\\:y", "n") == b"3"
    assert client.ask("HGET", "line:1:x:y", "n").startswith("NOROW")
    sql.run("INSERT INTO line VALUES (2, '007', 1)")
    assert client.ask("HGET", "line:2:007", "n") == b"1", "a key of text is what SQL's = finds"
    for key in ("product:007", "product:+7", "product: 7", "product:7.0"):
        assert client.ask("HGETALL", key) == [] and client.ask("EXISTS", key) == 0
    assert client.ask("HSET", "product:007", "name", "x").startswith("CONSTRAINT")
    for key in ("line:2:\\007", "line:2:007\\"):
        for command in (["HGET", key, "n"], ["HSET", key, "n", 1], ["DEL", "product:99", key]):
            assert client.ask(*command).startswith("NOROW a backslash in a key"), command
        required = client.transaction(["ROW.REQUIRE", key, "n", ">=", 1], ["HSET", "product:7", "stock", 1])
        assert required.startswith("EXECABORT nothing was done: command 1: NOROW a backslash"), required
    for key in ("product", "x", ":1", ".t:1", "shop.:1"):
        assert client.ask("HGETALL", key).startswith("NOTABLE the key names no table")
    for key in ("nothing:1", "nowhere.t:1", "mysql.user:1", "product@nokey:1"):
        assert client.ask("HGETALL", key).startswith("NOTABLE"), key
    assert client.ask("HGET", "product:7", "nofield") is None and client.ask("HMGET", "product:7", "x", "name", "y", "name") == [
        None, b"Teapot", None, b"Teapot"]
    assert client.ask("HMGET", "product:99", "x", "name") == [None, None] and client.ask("HEXISTS", "product:7", "x") == 0
    assert client.ask("HSTRLEN", "product:7", "x") == 0 and client.ask("HDEL", "product:8", "x", "price", "name") == 1
    for command in (["HSET", "product:7", "x", 1], ["HSETNX", "product:7", "x", 1], ["HINCRBY", "product:7", "x", 1]):
        assert client.ask(*command).startswith("NOFIELD"), command


def test_a_column_of_the_key_is_read_and_not_written(client, sql):
    """HSET product:7 id 70 would make product:70 of product:7."""
    before = sql.run("SELECT * FROM product ORDER BY id")
    assert client.ask("HGET", "product:7", "id") == b"7"
    for key in ("product:7", "product:404"):
        for command in (["HSET", key, "name", "x", "ID", 70], ["HSET", key, "id", 7], ["HMSET", key, "id", 70], ["HSETNX", key, "id", 70],
                        ["HINCRBY", key, "id", 1], ["HINCRBYFLOAT", key, "id", 1]):
            assert client.ask(*command).startswith("NOFIELD"), command
    assert client.transaction(("HSET", "product:7", "id", 70)).startswith("EXECABORT nothing was done: command 1: NOFIELD")
    # NULL in a column of the key would leave a row that the key does not find any more.
    for key, field in (("product:7", "id"), ("product@by_sku:T-7", "sku")):
        assert client.ask("HDEL", key, field).startswith("NOFIELD") and client.ask("HDEL", key, "name", field).startswith("NOFIELD")
        assert client.transaction(("HDEL", key, field)).startswith("EXECABORT undone: command 1: NOFIELD")
        assert client.ask("EXISTS", key) == 1
    assert client.ask("HDEL", "product@by_sku:none", "sku") == 0
    assert sql.run("SELECT * FROM product ORDER BY id") == before


def test_a_new_column_is_a_field(client, sql):
    sql.run("CREATE TABLE grows (id INT PRIMARY KEY, a INT)")
    sql.run("INSERT INTO grows VALUES (1, 1)")
    assert client.ask("HGETALL", "grows:1") == [b"a", b"1"]
    sql.run("ALTER TABLE grows ADD COLUMN b INT NOT NULL DEFAULT 2")
    from server import wait_until
    wait_until(lambda: client.ask("HGETALL", "grows:1") == [b"a", b"1", b"b", b"2"], 10, "the new column")
    sql.run("ALTER TABLE grows DROP COLUMN a")
    wait_until(lambda: client.ask("HGETALL", "grows:1") == [b"b", b"2"], 10, "the column that is gone")
    sql.run("DROP TABLE grows")


def test_what_is_not_served_is_refused_by_name(client):
    for command in (["LPUSH", "a", "b"], ["EVAL", "return 1", 0], ["FCALL", "x", 0],
                    ["EXPIRE", "product:7", 5], ["SUBSCRIBE", "x"], ["MONITOR"],
                    ["ZRANGEBYSCORE", "a", 0, 1], ["SHUTDOWN"], ["ACL", "LIST"]):
        assert client.ask(*command).startswith("NOTSERVED"), command
    assert client.ask("nosuch", "a b", "c\r\nd") == Error(
        "ERR unknown command 'nosuch', with args beginning with: 'a b' 'c  d' ")
    assert client.ask("HGET", "a") == Error("ERR wrong number of arguments for 'hget' command")
    assert client.ask("CLIENT", "TRACKING", "ON").startswith("ERR")
    assert client.ask("CLIENT", "MAINT_NOTIFICATIONS", "ON").startswith("ERR unknown subcommand")
    assert client.ask("CLUSTER", "SHARDS") == Error("ERR This instance has cluster support disabled")
    assert client.ask("PUBLISH", "a", "b") == 0
    assert client.ask("FUNCTION", "FLUSH") == "OK" and client.ask("FUNCTION", "LOAD", "x").startswith("NOTSERVED")
    assert client.ask("CONFIG", "SET", "hash-max-listpack-entries", 5) == "OK"
    assert client.ask("CONFIG", "SET", "maxmemory", 5).startswith("NOTSERVED")
    assert b"\r\nrefused_shutdown:" in client.ask("INFO") and b"\r\nrefused_get:" not in client.ask("INFO")


def test_the_connection(client, server):
    assert client.ask("ping") == "PONG" and client.ask("PING", "x") == b"x" and client.ask("ECHO", "y") == b"y"
    assert client.ask("SELECT", 15) == "OK" and client.ask("SELECT", 16) == Error("ERR DB index is out of range")
    assert client.ask("HGET", "product:7", "stock") == b"5"
    assert client.ask("CLIENT", "SETNAME", "web-1") == "OK" and client.ask("CLIENT", "GETNAME") == b"web-1"
    assert client.ask("HELLO", 4) == Error("NOPROTO unsupported protocol version")
    assert client.ask("HELLO", 3, "SETNAME", "web-2")[b"server"] == b"redis"
    assert client.ask("CLIENT", "GETNAME") == b"web-2" and client.ask("HGET", "product:99", "name") is None
    assert client.ask("RESET") == "RESET" and client.ask("CLIENT", "GETNAME") is None
    assert client.ask("CONFIG", "GET", "max*") == [b"maxmemory", b"0", b"maxmemory-policy", b"noeviction"]
    assert client.ask("COMMAND", "INFO", "hget", "lpush")[1] is None and client.ask("COMMAND", "COUNT") > 30
    assert b"redis_version:" in client.ask("INFO") and client.ask("ROLE")[0] == b"master"
    other = Client(server.resp_port)
    assert other.ask("CLIENT", "ID") > client.ask("CLIENT", "ID")
    assert other.ask("QUIT") == "OK"
    with pytest.raises(ConnectionError):
        other.ask("PING")


def test_a_pipeline_keeps_its_order(client):
    for number in range(200):
        client.send("HSET", f"line:5:{number}", "n", number)
        client.send("HGET", f"line:5:{number}", "n")
        client.send("HINCRBY", "product:7", "stock", 1)
    answers = [client.receive() for _ in range(600)]
    assert answers[0::3] == [1] * 200
    assert answers[1::3] == [b"%d" % number for number in range(200)]
    assert answers[2::3] == list(range(6, 206))


def test_inline_commands_and_bytes_in_pieces(server):
    client = Client(server.resp_port)
    client.sock.sendall(b'\r\nHGET product:7 name\nECHO "a\\x41 b"\r\n')
    assert client.receive() == b"Teapot" and client.receive() == b"aA b"
    for byte in b"*3\r\n$4\r\nHGET\r\n$9\r\nproduct:7\r\n$4\r\nname\r\n":
        client.sock.sendall(bytes((byte,)))
    assert client.receive() == b"Teapot"


@pytest.mark.parametrize("sent, error", [
    (b"*1\r\nGET\r\n", "expected '$', got 'G'"), (b"*x\r\n", "invalid multibulk length"),
    (b"*1\r\n$x\r\n", "invalid bulk length"), (b'SET "a\r\n', "unbalanced quotes in request"),
    (b"x" * 70000, "too big inline request"), (b"*1\r\n$99999999999\r\n", "invalid bulk length")])
def test_a_protocol_error_ends_the_connection_after_the_replies_before_it(server, sent, error):
    client = Client(server.resp_port)
    client.sock.sendall(b"PING\r\n" + sent)
    assert client.receive() == "PONG"
    assert client.receive() == Error(f"ERR Protocol error: {error}")
    with pytest.raises(ConnectionError):
        client.receive()


@pytest.mark.parametrize("command", [
    ["MSET", *(f"k{number // 2}" for number in range(20_002))], ["DEL", *(f"k{number}" for number in range(30_000))]],
    ids=["MSET", "DEL"])
def test_a_command_with_too_many_words_is_refused(server, command):
    client = Client(server.resp_port)
    words = b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in command)
    client.sock.sendall(b"*%d\r\n" % len(command) + words + b"PING\r\n")
    assert client.receive().startswith("TOOLARGE a command has at most 20002 words")
    assert client.receive() == "PONG"


def test_http_ends_the_connection(server):
    client = Client(server.resp_port)
    client.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nHSET product:7 name hacked\r\n")
    with pytest.raises(ConnectionError):
        client.receive()
    assert Client(server.resp_port).ask("HGET", "product:7", "name") == b"Teapot"


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(server, sql, protocol):  # pylint: disable=unused-argument
    with redis.Redis(port=server.resp_port, protocol=protocol, decode_responses=True) as client:
        assert client.hgetall("product:7") == {"name": "Teapot", "price": "24.90", "stock": "5", "sku": "T-7"}
        assert client.hset("product:30", mapping={"name": "Jug", "stock": 3}) == 2
        assert client.hincrby("product:30", "stock", 2) == 5
        assert client.hmget("product:30", ["name", "price"]) == ["Jug", None]
        pipe = client.pipeline(transaction=True)
        pipe.hincrby("product:30", "stock", -1).hget("product:30", "stock")
        assert pipe.execute() == [4, "4"]
        pipe = client.pipeline(transaction=True)
        pipe.execute_command("ROW.REQUIRE", "product:30", "stock", ">=", 100)
        pipe.hincrby("product:30", "stock", -100)
        with pytest.raises(redis.WatchError):
            pipe.execute()
        with pytest.raises(redis.ResponseError, match="NOTSERVED"):
            client.lpush("x", 1)
        assert client.delete("product:30") == 1


def test_replies_are_left_out_as_the_client_asks(client):
    """In one packet, as loaders send them: the replies that come are of the right commands."""
    load = [("CLIENT", "REPLY", "OFF")] + [("HINCRBY", "product:7", "stock", 1)] * 50 + [("NONE",), ("CLIENT", "REPLY", "ON")]
    load += [("CLIENT", "REPLY", "SKIP"), ("HINCRBY", "product:7", "stock", -50), ("HGET", "product:7", "name"), ("PING",)]
    for words in load:
        client.send(*words)
    assert [client.receive() for _ in range(3)] == ["OK", b"Teapot", "PONG"]
    assert client.ask("HGET", "product:7", "stock") == b"5"


def test_a_refused_command_leaves_the_text_that_the_one_before_it_has_made(client, sql):
    """Both are changes of one row that is written once."""
    sql.run("CREATE TABLE texts (id INT PRIMARY KEY, body TEXT CHARACTER SET utf8mb4)")
    for number in range(1, 20):
        key, body = f"texts:{number}", b"made %d" % number
        first, second = b'HSET %s body "%s"' % (key.encode(), body), b'HSET %s body "zzzzzzzz\\xff"' % key.encode()
        client.sock.sendall(first + b"\r\n" + second + b"\r\n")
        answers = [client.receive(), client.receive()]
        assert answers[0] == 1 and isinstance(answers[1], Error), answers
        assert sql.value(f"SELECT body FROM texts WHERE id = {number}") == body
    sql.run("DROP TABLE texts")


def test_increments_with_an_exponent_are_exact(client, sql):
    sql.run("CREATE TABLE exact (id INT PRIMARY KEY, small DECIMAL(30,20), large DECIMAL(40,0))")
    sql.run("INSERT INTO exact VALUES (1, 0, 0)")
    for field, by, answer in (("small", "6e-18", b"0.000000000000000006"), ("small", "1E-18", b"0.000000000000000007"),
                              ("large", "1e30", b"1" + b"0" * 30), ("large", "-1e+30", b"0"), ("large", "+1.5e1", b"15")):
        assert client.ask("HINCRBYFLOAT", "exact:1", field, by) == answer
    assert client.ask("HINCRBYFLOAT", "exact:1", "small", "1e-21").startswith("CONSTRAINT")
    assert client.ask("HINCRBYFLOAT", "exact:1", "large", "1e40").startswith("CONSTRAINT")
    sql.run("DROP TABLE exact")
