"""A round by redis-py: resp_python.py PORT CA|- SCENARIO."""

import concurrent.futures
import sys

import redis

port, ca, scenario = sys.argv[1:4]
secure = {} if ca == "-" else {"ssl": True, "ssl_ca_certs": ca, "ssl_check_hostname": False}
server = redis.Redis(port=int(port), username="web", password="Open-Sesame-7", decode_responses=True, **secure)


def sale(token):
    pipe = server.pipeline(transaction=True)
    pipe.execute_command("ROW.ONCE", token)
    pipe.execute_command("ROW.REQUIRE", "shop.product:7", "stock", ">=", 1)
    pipe.hincrby("shop.product:7", "stock", -1)
    try:
        return pipe.execute()[2]
    except redis.WatchError:
        return None


if scenario == "round":
    print("row", *server.hmget("shop.product:7", "name", "price"))
    pipe = server.pipeline(transaction=False)
    for _ in range(100):
        pipe.incr("piped")
    print("pipeline", pipe.execute()[-1])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: server.incr("pooled"), range(200)))
    print("pool", server.get("pooled"))
    print("transaction", *(sale(f"t{number}") for number in range(3)))
elif scenario == "count":
    print(server.hincrby("shop.page:1", "views", 1))
else:
    for _ in range(50):
        try:
            print(sale("once"))
            break
        except redis.ConnectionError:
            pass
