"""What rowsocket-doctor --live says of a replica by what SHOW REPLICA STATUS answers, which is made up."""

import pytest

from test_reading import Connection
from test_trouble import found
# pylint: disable=wrong-import-order
from rowsocket_observe import reading

pytestmark = pytest.mark.once("starts no server")

RUNS = {"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes", "Last_IO_Error": "", "Last_SQL_Error": "", "Seconds_Behind_Master": 0,
        "SQL_Delay": 0}


class Replica(Connection):
    """A connection to a replica whose sources have these rows of SHOW REPLICA STATUS."""

    def __init__(self, *sources):
        super().__init__({"REPLICAS STATUS": [tuple({**RUNS, **row}.values()) for row in sources]})
        self.description = [(name,) for name in RUNS]


def read(*sources):
    return reading.read(Replica(*sources), in_parts=True)


def said(*sources):
    now = read(*sources)
    return found(now={"stopped": now.stopped, "lag_s": now.lag_s, "delay_s": now.delay_s})


def test_each_thread_has_its_own_error():
    assert said({}) == ""
    rejected, missing = "error connecting to master: Access denied", "Table 'd.t' doesn't exist"
    text = said({"Slave_IO_Running": "Connecting", "Slave_SQL_Running": "No", "Last_IO_Error": rejected, "Last_SQL_Error": missing})
    assert f"no longer receives what its source writes (its thread is: Connecting): {rejected}: START" in text
    assert f"no longer applies what its source writes (its thread is: No): {missing}: START" in text
    text = said({"Slave_IO_Running": "No", "Last_SQL_Error": missing})
    assert "(its thread is: No): START REPLICA" in text and missing not in text, "somebody has stopped it"


def test_a_replica_that_is_asked_to_wait():
    late = {"Seconds_Behind_Master": 3600}
    assert "is 3600 s behind its source: clients" in said(late)
    assert said({**late, "SQL_Delay": 3600}) == "" and said({"Seconds_Behind_Master": 16, "SQL_Delay": 3600}) == ""
    assert "is 3600 s behind its source, of which it is asked to wait 3500 s" in said({**late, "SQL_Delay": 3500})
    now = read({**late, "SQL_Delay": 3600}, {"Seconds_Behind_Master": 20}, {"Seconds_Behind_Master": None})
    assert (now.lag_s, now.delay_s) == (20, 0), "the other source's changes are late"
