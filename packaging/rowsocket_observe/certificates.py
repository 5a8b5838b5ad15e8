"""The server's certificate, which the ports that speak TLS show to their clients."""
import time

DAY_S = 86400
SOON_S = 14 * DAY_S


def the_certificate_ends(look):
    """A rule of trouble.py. Clients that check the certificate connect no more once it has ended, and count as handshakes that
    fail."""
    ends = {plugin: counters.get("tls_certificate_ends") for plugin, counters in look.now.counters.items()}
    plugins = [plugin for plugin, at in ends.items() if at and at - time.time() < SOON_S]
    if not plugins:
        return
    left = min(ends[plugin] for plugin in plugins) - time.time()
    when = f"ends in {left / DAY_S:.1f} days" if left > 0 else f"has ended {-left / DAY_S:.1f} days ago"
    yield (f"the server's certificate, which clients of {', '.join(plugins)} get, {when}: clients that check it cannot"
           " connect after that",
           "put a new one where ssl_cert and ssl_key say, and FLUSH SSL (MySQL: ALTER INSTANCE RELOAD TLS); connections stay"
           " open")
