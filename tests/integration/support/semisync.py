"""Semi-synchronous replication: a commit waits until a replica has its events."""

from server import is_mysql, wait_until

_SOURCE, _REPLICA = ("source", "replica") if is_mysql() else ("master", "slave")
# The variables that turn it on, at the source and at the replica.
SOURCE, REPLICA = f"rpl_semi_sync_{_SOURCE}_enabled", f"rpl_semi_sync_{_REPLICA}_enabled"
# A condition on a line of the process list: this commit waits for a replica.
WAITS = "state LIKE 'Waiting for semi-sync ACK%'"
# The options that a replica needs.
REPLICA_OPTIONS = ["--plugin-load-add=semisync_replica.so"] if is_mysql() else []


def options(timeout_ms, wait_point="AFTER_SYNC"):
    """The options of a server whose commits can wait for so long."""
    return [*(["--plugin-load-add=semisync_source.so"] if is_mysql() else []),
            f"--rpl-semi-sync-{_SOURCE}-timeout={timeout_ms}", f"--rpl-semi-sync-{_SOURCE}-wait-point={wait_point}"]


def turn_on(source, replica):
    """Makes commits at the source wait for the replica. Both arguments are SQL sessions."""
    replica.run("STOP REPLICA")
    replica.run(f"SET GLOBAL {REPLICA} = 1")
    replica.run("START REPLICA")
    source.run(f"SET GLOBAL {SOURCE} = 1")
    wait_until(lambda: source.status(f"Rpl_semi_sync_{_SOURCE}_clients") == 1, 30, "a semi-synchronous replica")


def is_on(source):
    """Whether no commit has given up waiting."""
    return source.rows(f"SHOW STATUS LIKE 'Rpl_semi_sync_{_SOURCE}_status'")[0][1] == b"ON"


def waiting_threads(sql, user):
    """The ids of threads of this user whose commit waits for a replica."""
    return [int(number) for number, in sql.rows(
        f"SELECT id FROM information_schema.processlist WHERE user = '{user}' AND {WAITS}")]
