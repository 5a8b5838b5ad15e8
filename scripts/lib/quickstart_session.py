"""Plays the session with which everyone starts on a port, and checks each reply."""

import socket
import sys

ROW = ("Yukari Takeba", "yukari.takeba@example.com", "2010-02-03 11:22:33")
VALUE = "|".join(ROW)
FIELDS = [text for pair in zip(("user_name", "user_email", "created"), ROW) for text in pair]
SESSIONS = {
    "handlersocket": [
        ("open the primary key of test.user as index 0, for three columns",
         "P\t0\ttest\tuser\tPRIMARY\tuser_name,user_email,created\n",
         "0\t1\n"),
        ("the row whose key is 101",
         "0\t=\t1\t101\n",
         "0\t3\t" + "\t".join(ROW) + "\n"),
    ],
    "memcached": [
        ("the row whose key is 101, of the container `user`",
         "get @@user.101\r\n",
         f"VALUE @@user.101 0 {len(VALUE)}\r\n{VALUE}\r\nEND\r\n"),
    ],
    "resp": [
        ("the row whose key is 101, as redis-cli shows it",
         "HGETALL test.user:101\r\n",
         f"*{len(FIELDS)}\r\n" + "".join(f"${len(text)}\r\n{text}\r\n" for text in FIELDS)),
    ],
}


def readable(line):
    return line.removesuffix("\n").removesuffix("\r").replace("\t", r"\t")


def as_redis_cli_shows(replies):
    """The texts of an array, numbered."""
    return [f'{number}) "{text}"' for number, text in enumerate(replies[2::2], 1)]


def main():
    name, session, port = sys.argv[1], SESSIONS[sys.argv[1]], int(sys.argv[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        lines = connection.makefile("r", encoding="utf-8", newline="\n")
        for what, request, expected in session:
            print(f"   # {what}", flush=True)
            if name != "resp":
                print(f"-> {readable(request)}", flush=True)
            connection.sendall(request.encode())
            replies = []
            for line in expected.splitlines(keepends=True):
                reply = lines.readline()
                replies.append(readable(reply))
                if name != "resp":
                    print(f"<- {replies[-1]}", flush=True)
                if reply != line:
                    sys.exit(f"wrong reply {replies[-1]}; it should be: {readable(line)}")
            if name == "resp":
                print("\n".join([f"$ redis-cli -p {port} {readable(request)}", *as_redis_cli_shows(replies)]), flush=True)


main()
