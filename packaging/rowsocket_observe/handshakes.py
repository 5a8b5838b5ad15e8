"""TLS handshakes that do not end."""
import collections

from rowsocket_observe import rates

STALLED = 20  # connections of a plugin, in both readings


def handshakes_stand_still(look):
    """A rule of trouble.py. A handshake is over in a moment, unless its client does not go on."""
    before = {(row["plugin"], row["id"]) for row in look.before.clients if row["state"] == rates.HANDSHAKE_STATE}
    stalled = [row for row in look.now.clients
               if row["state"] == rates.HANDSHAKE_STATE and (row["plugin"], row["id"]) in before]
    for plugin in look.now.counters:
        addresses = collections.Counter(row["address"] for row in stalled if row["plugin"] == plugin)
        if addresses.total() >= STALLED:
            [(address, count)] = addresses.most_common(1)
            yield (f"{addresses.total()} connections of {plugin} have begun a TLS handshake that does not go on, {count} of them"
                   f" from {address}",
                   f"{plugin}_auth_timeout ends each; find out who connects from there, and keep it away (a firewall) if it takes"
                   " places on purpose, or is a program that does not speak TLS")
