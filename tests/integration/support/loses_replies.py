"""A proxy in front of a port of RESP that ends connections instead of forwarding replies."""

import socket
import threading


class LosesReplies:
    """Loses the first `times` packets of replies that hold `mark`; proxy.port is where clients connect."""

    def __init__(self, port, times, mark):
        self.upstream, self.times, self.mark = port, times, mark
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client):
        with client, socket.create_connection(("127.0.0.1", self.upstream)) as server:
            threading.Thread(target=self._bring, args=(server, client), daemon=True).start()
            try:
                while data := client.recv(65536):
                    server.sendall(data)
            except OSError:
                pass

    def _bring(self, server, client):
        try:
            while data := server.recv(65536):
                if self.times > 0 and self.mark in b"\r\n" + data:
                    self.times -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
