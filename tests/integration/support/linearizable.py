"""Whether a history of concurrent operations on one register could have happened one by one; on other objects, if they
have a step() of their own.

The search of J. M. Wing and C. Gong, "Testing and Verifying Concurrent Objects" (1993), with the cache of G. Lowe,
"Testing for Linearizability" (2017): take any operation before whose start no other pending operation ended, try it on
the state, and never try the same set of done operations with the same state twice.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of a client. answered is None when no answer came: the operation may have happened, or
    not."""

    sent: float
    answered: float | None
    name: str
    argument: object
    result: object


ABSENT = None


def step(state, operation):
    """The state after the operation; raises ValueError when the operation cannot have had its result. Without
    an answer any result is possible."""
    name, argument = operation.name, operation.argument
    new, result = apply(state, name, argument)
    if operation.answered is not None and result != operation.result:
        raise ValueError
    return new


def apply(state, name, argument):
    """(new state, result) of one operation on a row: its number, or ABSENT."""
    if name == "get":
        return state, state
    if name == "insert":
        return (argument, "stored") if state is ABSENT else (state, "exists")
    if state is ABSENT:
        return state, "nothing"
    if name == "increment":
        return state + argument, state
    if name == "decrement":  # the condition: only while more than 3 are left
        return (state - argument, state) if state > 3 else (state, "nothing")
    if name == "set":
        return argument, state
    if name == "delete":
        return ABSENT, state
    raise AssertionError(name)


def is_linearizable(history, state=ABSENT, do=step):
    """`do` is the object's step(), and states have to be hashable. The search is iterative: histories may be longer
    than Python's stack is deep."""
    operations = sorted(history, key=lambda one: one.sent)
    everything = (1 << len(operations)) - 1
    must = sum(1 << at for at, one in enumerate(operations) if one.answered is not None)
    seen = {(0, state)}
    work = [(0, state)]
    while work:
        done, state = work.pop()
        if done & must == must:
            return True
        for at in candidates(operations, done, everything):
            try:
                new = do(state, operations[at])
            except ValueError:
                continue
            entry = (done | 1 << at, new)
            if entry not in seen:
                seen.add(entry)
                work.append(entry)
    return False


def candidates(operations, done, everything):
    """Operations that were sent before any other pending operation was answered."""
    left = everything & ~done
    earliest_answer = float("inf")
    possible = []
    for at, operation in enumerate(operations):
        if not left >> at & 1:
            continue
        if operation.sent > earliest_answer:
            break
        possible.append(at)
        if operation.answered is not None:
            earliest_answer = min(earliest_answer, operation.answered)
    return [at for at in possible if operations[at].sent <= earliest_answer]
