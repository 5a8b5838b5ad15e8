"""The rules of rowsocket-doctor --live about requests that are answered with an error, by readings that are made up."""

import csv

import pytest

from server import REPOSITORY
from test_trouble import client, found, look
# pylint: disable=wrong-import-order
from rowsocket_observe import failures, trouble

pytestmark = pytest.mark.once("starts no server")


def test_each_error_is_named_by_one_list():
    """So that the doctor blames no client for an error that is the server's."""
    with open(REPOSITORY / "spec/errors.tsv", encoding="utf-8") as file:
        rows = csv.reader((line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE)
        counted = sorted(f"errors_{name}" for name, _, _, plugins, _ in rows if plugins != "-")
    assert counted == sorted([*failures.ERRORS, *failures.CLIENTS_ERRORS, *failures.USUAL_ERRORS])


def test_errors_of_the_server_are_not_laid_on_clients():
    for name, what in (("token_table", "the table rowsocket.tokens is not there"), ("trigger", "the table has a trigger"),
                       ("unserved", "does not do this in this server"), ("unavailable", "SHOW REPLICA STATUS"),
                       ("killed", "uses KILL on the library's threads"), ("versioned", "the table is system-versioned")):
        text = found(counters={f"errors_{name}": 100})
        assert f"100 requests over handlersocket were answered {name} in the last 10 s" in text and what in text
        assert failures.OTHER_ERROR not in text
    assert failures.OTHER_ERROR in found(counters={"errors_klen": 100})


def test_the_index_at_which_requests_fail_is_named():
    def errors(count, index="name"):
        return {"tables": [{"plugin": "handlersocket", "table_schema": "shop", "table_name": "t", "index_name": index, "errors": count}]}
    for name in ("idxnum", "trigger"):
        text = found(errors(10), errors(110), {f"errors_{name}": 100})
        assert f"100 requests over handlersocket were answered {name} in the last 10 s, at shop.t name: " in text
    assert "in the last 10 s: " in found(errors(10), errors(50), {"errors_idxnum": 100}), "these are others"
    assert "in the last 10 s: " in found(errors(10), errors(110), {"errors_needtls": 100}), "there is no table"


def test_logins_that_fail_are_told_once():
    assert "clients send a wrong secret or password" in found(counters={"errors_unauth": 100})
    server = {"server": {"access_denied_errors": "7", "handlersocket_accounts": "ON"}}
    text = found(server, server, {"errors_unauth": 100, "auths_failed": 100})
    assert "most not for a wrong password" in text and "were answered unauth" not in text


@pytest.mark.parametrize("secret", ["handlersocket_plain_secret", "handlersocket_plain_secret_wr"])
def test_logins_that_fail_where_accounts_and_secrets_are_checked(secret):
    """Of the plugin's two ports one may have a secret, while the logins of accounts are those of the other one."""
    def said(denied):
        before, now = ({"server": {"access_denied_errors": str(count), "handlersocket_accounts": "ON", secret: "***"}}
                       for count in (7, 7 + denied))
        return found(before, {**now, "limited": ["app@% (MAX_USER_CONNECTIONS 2)"]}, {"auths_failed": 100})
    text = said(0)
    assert "most not for an account's wrong password, but for a wrong secret, or for a limit or the state of their account" in text
    assert "app@% (MAX_USER_CONNECTIONS 2)" in text and "somebody guesses; of logins of accounts the error log says" in text
    text = said(90)
    assert "has refused 100 logins in the last 10 s: the error log names" in text and "MAX_USER_CONNECTIONS" not in text


def of_account(account, requests, errors, number=1, plugin="resp"):
    return {**client(number, requests), "plugin": plugin, "account": account, "errors": errors}


def two(before, now, counters, plugin="resp", **more):
    """What is said of two readings of one plugin, by rows of its clients."""
    one = look({"clients": before}, {"clients": now, **more})
    one.before.counters, one.now.counters = {plugin: {}}, {plugin: counters}
    return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(one))


def test_the_account_of_requests_that_are_refused_is_named():
    before = [of_account("app@%", 0, 0), of_account("other@%", 0, 0, 2), of_account(None, 0, 0, 3)]
    now = [of_account("app@%", 500, 460), of_account("other@%", 10, 1, 2), of_account(None, 200, 0, 3)]
    text = two(before, now, {"errors_account_rate": 461})
    assert "461 requests over resp were answered account_rate in the last 10 s, most of account app@%: " in text
    assert "were answered with an error" not in text, "it is told already"
    assert "in the last 10 s: " in two(before, [of_account(None, 500, 461)], {"errors_account_rate": 461}), "nobody has logged in"
    both = two(before, [of_account("app@%", 500, 461), of_account(None, 1000, 400, 3)], {"errors_account_rate": 461})
    assert "account_rate" in both and "were answered with an error" not in both, "the others are less than half of the rest"
    both = two(before, [of_account("app@%", 500, 461), of_account(None, 1000, 900, 3)], {"errors_account_rate": 461})
    assert "account_rate" in both and "900 of 1500 requests over resp were answered with an error" in both


def test_the_table_of_requests_that_are_refused_is_named():
    def errors(count):
        return [{"plugin": "handlersocket", "table_schema": "d", "table_name": "gone", "index_name": "PRIMARY", "errors": count}]
    for name in ("open_table", "denied"):
        text = found({"tables": errors(5)}, {"tables": errors(95)}, {f"errors_{name}": 90})
        assert f"90 requests over handlersocket were answered {name} in the last 10 s, at d.gone PRIMARY: " in text


def test_a_table_for_which_nearly_all_requests_fail():
    """Over HandlerSocket, whose clients meet errors of engines that are no trouble."""
    def said(failed, asked=100, **counters):
        def tables(asked, errors):
            return [{"plugin": "handlersocket", "table_schema": "d", "table_name": name, "index_name": "PRIMARY", "requests": count, "errors": one}
                    for name, count, one in (("cnt", asked, errors), ("t", 100 * asked, errors // 10))]
        now = [of_account(None, asked, failed, plugin="handlersocket"), of_account(None, 9000, 0, 2, plugin="handlersocket")]
        return two([of_account(None, 0, 0, number, "handlersocket") for number in (1, 2)], now,
                   {"errors_engine": failed, "duplicates": 0, **counters}, "handlersocket", tables=tables(asked, failed))
    text = said(95)
    assert "95 of 100 requests over handlersocket for d.cnt were answered with an engine's error in the last 10 s; most by handlersocket 1 -" in text
    assert "1264 is out of its range" in text
    assert said(80) == "" and said(8, 8) == "", "some of them, or few"
    assert said(95, duplicates=95) == "", "the rows are there already"
    assert "for d.cnt were" in said(95, duplicates=30) and said(95, duplicates=60) == ""
    assert "an engine's error" not in said(95, engine_failures=95), "it is told already"
    assert said(95, errors_engine=0) == "", "these are other errors"


def test_a_table_whose_rows_are_there_already_hides_no_other():
    def tables(values, keys):
        return [{"plugin": "handlersocket", "table_schema": "d", "table_name": name, "index_name": "PRIMARY", "requests": count, "errors": count}
                for name, count in (("values_fail", values), ("rows_are_there", keys))]
    text = found({"tables": tables(0, 0)}, {"tables": tables(100, 4000)}, {"errors_engine": 4100, "duplicates": 4000})
    assert "100 of 100 requests over handlersocket for d.values_fail were" in text and "rows_are_there" not in text


def test_a_table_of_the_library_that_is_gone():
    for plugin, table in (("resp", "rowsocket.store"), ("daemon_memcached", "innodb_memcache.containers")):
        rows = [of_account(None, requests, requests, plugin=plugin) for requests in (0, 100)]
        text = two(rows[:1], rows[1:], {}, plugin, gone=[table])
        assert f"100 of 100 requests over {plugin} were answered with an error" in text and f"the table {table}, by which" in text
        assert "is not there: mariadb (MySQL: mysql) < /usr/share/rowsocket/" in text and "; otherwise the answer itself says" in text
        assert table not in two(rows[:1], rows[1:], {}, plugin) and two(rows[:1], rows[:1], {}, plugin, gone=[table]) == ""
