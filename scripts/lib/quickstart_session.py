"""Plays the session that everyone starts with against a port, and checks each reply."""

import socket
import sys

SESSION = [
    ("open the primary key of test.user as index 0, for three columns",
     "P\t0\ttest\tuser\tPRIMARY\tuser_name,user_email,created",
     "0\t1"),
    ("the row whose key is 101",
     "0\t=\t1\t101",
     "0\t3\tYukari Takeba\tyukari.takeba@example.com\t2010-02-03 11:22:33"),
]


def readable(line):
    return line.replace("\t", r"\t")


def main():
    port = int(sys.argv[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        replies = connection.makefile("r", encoding="utf-8", newline="\n")
        for what, request, expected in SESSION:
            print(f"   # {what}\n-> {readable(request)}", flush=True)
            connection.sendall(request.encode() + b"\n")
            reply = replies.readline().removesuffix("\n")
            print(f"<- {readable(reply)}", flush=True)
            if reply != expected:
                sys.exit(f"wrong reply; it should be: {readable(expected)}")


main()
