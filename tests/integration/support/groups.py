"""Groups of requests with one outcome, as HandlerSocket sends them."""

import hs

APPLIED = hs.reply(0, 2, 1, 0)
NOT_DONE = hs.refused(2, "group")


def required(index, *tokens):
    return ["R", index.id, *tokens]


def optional(index, *tokens):
    return ["O", index.id, *tokens]


def take(index, key, count=1):
    """A decrement of a row, if it has enough: the words after the id. The index has the column both as its column and
    as its filter column."""
    return ["=", 1, key, 1, 0, "F", ">=", 0, count, "-", count]


def add(*values):
    """An insert, as a request of a group."""
    return ["+", len(values), *values]


def group(client, requests, token=None):
    """Sends a group. Returns (the group's own answer, the answers to its requests)."""
    front = ["T", token] if token else []
    answers = client.pipeline([[*front, "G", len(requests)], *requests])
    return answers[0], answers[1:]


def stopped(position):
    return hs.reply(0, 2, 0, position)


def failed(code, text, position):
    return hs.reply(code, 2, text, position)
