"""Replicas that do not acknowledge, have stopped or lag, and nodes that have lost their cluster: rules of
trouble.py."""

LAG_S = 10
PAUSED_SHARE = 0.1  # of the time in which a node has held its cluster back


def on_this_node(look, statement):
    """Makes a statement run only on this node: in Galera, INSTALL and UNINSTALL run on every node unless the session is
    not replicated."""
    return f"SET SESSION wsrep_on = OFF; {statement}" if look.now.server.get("wsrep_provider_name") else statement


def no_replica_acknowledges(look):
    """Semi-synchronous replication that has given up is asynchronous, and clients do not notice."""
    for role in ("master", "source"):
        enabled, works = (look.now.server.get(f"rpl_semi_sync_{role}_{name}", "") for name in ("enabled", "status"))
        if enabled == "ON" and works == "OFF":
            yield ("semi-synchronous replication has given up: no replica has acknowledged in time, and what is answered now is"
                   " on this server alone", "look at the replicas (SHOW REPLICA STATUS there); it goes on when one has caught up."
                   f" rpl_semi_sync_{role}_timeout says how long a commit waits for it")


def the_node_is_alone(look):
    server = look.now.server
    status = server.get("wsrep_cluster_status", "")
    # Without a provider the server is no node, although it says that it is not ready.
    if status == "non-Primary" or (server.get("wsrep_provider_name") and server.get("wsrep_ready") == "OFF"):
        yield (f"this node is not part of its Galera cluster (wsrep_cluster_status {status}): requests are answered 1047",
               "bring the other nodes, or the network to them, back: CLUSTERS.md")
    elif server.get("wsrep_provider_name") and server.get("wsrep_local_state_comment", "Synced") != "Synced":
        yield (f"this node is {server['wsrep_local_state_comment']}: it gives its state to another node, or applies what it has"
               " missed",
               "wait for its end, or send clients to another node: CLUSTERS.md")
    paused = look.server_moved("wsrep_flow_control_paused_ns") / 1e9 / look.seconds
    if paused >= PAUSED_SHARE:
        yield (f"flow control of the Galera cluster has held writes back for {paused:.0%} of the last {look.seconds:.0f} s",
               "one node applies more slowly than the others write: SHOW STATUS LIKE 'wsrep_local_recv_queue_avg' on each")


def the_replica_has_stopped(look):
    for does, state, error in look.now.stopped:
        yield (f"this replica no longer {does} what its source writes (its thread is: {state})" + (f": {error}" if error else ""),
               "START REPLICA, when the reason is gone; until then finds here see an older state")


def the_replica_is_behind(look):
    now = look.now
    if now.lag_s is not None and now.lag_s - now.delay_s >= LAG_S:
        asked = f", of which it is asked to wait {now.delay_s:.0f} s (SQL_Delay)" if now.delay_s else ""
        yield (f"this replica is {now.lag_s:.0f} s behind its source{asked}",
               "clients that must see their own writes use H at, or the source: CLUSTERS.md")
