"""The rules of rowsocket-doctor --live about InnoDB's redo log, by readings that are made up."""

import pytest

from test_trouble import found

pytestmark = pytest.mark.once("starts no server")

MIB = 1 << 20


def test_a_redo_log_that_is_too_small():
    def mariadb(mib):
        return found(now={"server": {"innodb_checkpoint_age": f"{mib * MIB}", "innodb_checkpoint_max_age": f"{100 * MIB}"}})

    def mysql(mib):
        return found(now={"server": {"innodb_redo_log_current_lsn": f"{(900 + mib) * MIB}", "innodb_redo_log_checkpoint_lsn": f"{900 * MIB}",
                                     "innodb_redo_log_capacity_resized": f"{100 * MIB}"}})
    assert "the redo log is 96% full (96 of 100 MiB)" in mariadb(96) and "raise innodb_log_file_size (SET GLOBAL)" in mariadb(96)
    assert mariadb(94) == "", "pages are written, and no write waits for them"
    assert "the redo log is 88% full (88 of 100 MiB)" in mysql(88) and "raise innodb_redo_log_capacity (SET GLOBAL)" in mysql(88)
    assert mysql(80) == ""


def test_a_redo_log_that_is_off():
    text = found(now={"server": {"innodb_redo_log_enabled": "OFF"}})
    assert "no write that was answered survives" in text and "ALTER INSTANCE ENABLE INNODB REDO_LOG" in text
    assert found(now={"server": {"innodb_redo_log_enabled": "ON"}}) == ""
