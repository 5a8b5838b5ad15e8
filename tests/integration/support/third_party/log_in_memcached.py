"""Logs in by SASL with python-binary-memcached or pylibmc, and stores and reads an item; prints a JSON list.

usage: log_in_memcached.py bmemcached|pylibmc PORT USER PASSWORD
"""
import json
import sys


def main():
    module, port, user, password = sys.argv[1:]
    if module == "bmemcached":
        import bmemcached
        client = bmemcached.Client((f"127.0.0.1:{port}",), username=user, password=password, socket_timeout=10)
    else:
        import pylibmc
        client = pylibmc.Client([f"127.0.0.1:{port}"], binary=True, username=user, password=password)
    results = []
    for call, arguments in ((client.set, ("login", "stored")), (client.get, ("login",)), (client.delete, ("login",))):
        try:
            results.append(call(*arguments))
        except Exception as error:  # pylint: disable=broad-except
            results.append(type(error).__name__)
    print(json.dumps(results))


main()
