"""The examples of the documents are executed: the server's answers must be those of the document."""

import pytest

import mc
import recipes
from private_servers import create, remove
from server import free_port, is_mysql, run_packaged, wait_until

pytestmark = pytest.mark.ours

COOKBOOK = {**recipes.sections("docs/COOKBOOK.md"), **recipes.sections("docs/RESERVATIONS.md")}
# The answers that the document says MySQL gives.
IN_MYSQL = {"<- SERVER_ERROR a CHECK constraint does not hold (4025)": "<- SERVER_ERROR a value is no JSON document (3140)",
            '<- 0  2  1  {"email":"aiko@example.com","n":1}': '<- 0  2  1  {"n": 1, "email": "aiko@example.com"}'}


@pytest.fixture(scope="module")
def server(request):
    """With the ports and tables that scripts/quickstart has."""
    port = free_port()
    made = create(request.config, options=[f"--loose-resp-port={port}"]).start()
    made.env["RESP_PORT"] = str(port)
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(made.sql(), script)
    yield made
    remove(made)


@pytest.fixture
def shop(server):
    """A session in an empty schema `shop`, with a memcached port that has only its own container."""
    sql = server.sql()
    sql.run("DROP DATABASE IF EXISTS shop")
    sql.run("CREATE DATABASE shop CHARACTER SET utf8mb4")
    sql.run("USE shop")
    yield sql
    server.close_clients()
    with_admin = server.sql()
    with_admin.run("DELETE FROM innodb_memcache.containers WHERE name <> 'default'")
    with_admin.run("DELETE FROM innodb_memcache.demo")
    with_admin.run("DELETE FROM rowsocket.keyspaces")
    with_admin.run("DROP DATABASE shop")


@pytest.mark.parametrize("recipe", COOKBOOK)
def test_recipe(recipe, server, shop):
    examples = COOKBOOK[recipe]
    for mariadb, mysql in IN_MYSQL.items() if is_mysql() else ():
        examples = [(language, text.replace(mariadb, mysql)) for language, text in examples]
    recipes.play(server, shop, examples)


@pytest.mark.parametrize("document", ["README.md", "docs/CLIENTS.md"])
def test_examples_of_a_document(document, server, shop):
    """The examples use the table of scripts/quickstart, with one row."""
    shop.run("CREATE DATABASE IF NOT EXISTS test")
    shop.run("CREATE OR REPLACE TABLE test.user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50),"
             " user_email VARCHAR(255), created DATETIME)")
    shop.run("INSERT INTO test.user VALUES (101, 'Yukari Takeba', 'yukari.takeba@example.com',"
             " '2010-02-03 11:22:33')")
    shop.run("REPLACE INTO innodb_memcache.containers VALUES ('user', 'test', 'user', 'user_id',"
             " 'user_name,user_email,created', '0', '0', '0', 'PRIMARY')")
    client = mc.connect(server)
    wait_until(lambda: client.command("mg @@user.102") == b"EN", 10, "the container `user`")
    try:
        for examples in recipes.sections(document).values():
            recipes.play(server, shop, examples)
    finally:
        shop.run("DROP TABLE test.user")


def test_a_wrong_reply_is_noticed(server, shop):
    shop.run("CREATE TABLE t (id INT PRIMARY KEY)")
    recipes.play(server, shop, [("handlersocket 9998", "-> P  0  shop  t  PRIMARY  id\n<- 0  1")])
    for wrong in (("handlersocket 9998", "-> P  0  shop  t  PRIMARY  id\n<- 0  2"),
                  ("memcached", "-> get x\n<- END x"), ("sql", "SELECT 1;  -- 2")):
        with pytest.raises(AssertionError):
            recipes.play(server, shop, [wrong])
