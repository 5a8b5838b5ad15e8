"""Looks for one order of requests that explains the answers that many clients got about one row.

Every state of a row has a version of its own: increments add 1 to it, updates and inserts set one that was never used.
A modification that shows the row before it therefore has a fixed place in the order, which decides its possible
answers. States are dictionaries of the columns.
"""

from dataclasses import dataclass, field


@dataclass
class Event:
    """An answered request. seen: columns of the row before it; None: there was no row (or none that
    met the condition, if there is one)."""
    connection: int
    kind: str  # read, change, delete, insert, anonymous
    seen: dict | None = None
    change: object = None  # state -> state, for requests that changed the row
    unmet: object = None   # state -> whether the condition is unmet; seen is None


@dataclass
class History:
    first: dict | None
    events: list = field(default_factory=list)

    def check(self, final):
        """Raises AssertionError unless there is an order that explains all events and the end."""
        changes = {}
        for event in self.events:
            if event.kind in ("change", "delete") and event.seen is not None:
                assert event.seen["ver"] not in changes, ("two changes of one state", event)
                changes[event.seen["ver"]] = event
        self.anonymous = [event for event in self.events if event.kind == "anonymous"]
        self.places = {}  # id of an event: (segment, place)
        self.states = {}  # version: (segment, place, state)
        inserts = [event for event in self.events if event.kind == "insert"]
        starts = ([self.first] if self.first else []) + [event.change(None) for event in inserts]
        open_ends = [end for segment, start in enumerate(starts)
                     if (end := self._walk(segment, start, changes, final)) is not None]
        for start, event in zip(starts[len(starts) - len(inserts):], inserts):
            self.places[id(event)] = self.states[start["ver"]][:2]
        assert not changes, ("changes of states that never were", changes)
        assert not self.anonymous, ("lost", len(self.anonymous))
        assert open_ends == ([final] if final else []), (open_ends, final)
        self.was_absent = self.first is None or len(starts) > 1 or final is None
        for event in self.events:
            self._check_answer(event)
        self._check_connections()

    def _walk(self, segment, state, changes, final):
        place = 0
        while True:
            assert state["ver"] not in self.states, ("a version twice", state)
            self.states[state["ver"]] = (segment, place, state)
            event = changes.pop(state["ver"], None)
            if event is None:
                if final is not None and state["ver"] == final["ver"]:
                    return state
                assert self.anonymous, ("a state that nothing follows", state, final)
                event = self.anonymous.pop()
            else:
                self.places[id(event)] = (segment, place)
                assert event.seen.items() <= state.items(), (event.seen, state)
            if event.kind == "delete":
                return None
            state, place = event.change(state), place + 1

    def _check_answer(self, event):
        if event.kind != "read":
            return
        if event.seen is not None:
            assert event.seen["ver"] in self.states, ("a state that never was", event)
            segment, place, state = self.states[event.seen["ver"]]
            assert event.seen.items() <= state.items(), (event.seen, state)
            self.places[id(event)] = (segment, place)
            return
        possible = self.was_absent or (event.unmet and any(
            event.unmet(state) for _, _, state in self.states.values()))
        assert possible, ("found nothing where something always was", event)

    def _check_connections(self):
        """Checks that the requests of each connection took effect in the order in which they were sent."""
        last = {}
        for event in self.events:
            at = self.places.get(id(event))
            if at is None:
                continue
            before, changed = last.get(event.connection, (at, False))
            if before[0] == at[0]:
                assert at[1] >= before[1] + (changed and at != before), (before, at, event)
                assert not (changed and at == before), ("its own change unseen", event)
            last[event.connection] = (at, event.kind in ("change", "delete"))
