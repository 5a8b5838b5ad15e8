"""Results as JSON lines: one file per run, each line complete in itself, so that an interrupted run can be continued
and several runs can be shown together.

Lines, by their "kind":
  run      commit, machine, versions, settings: first, and again whenever the run was resumed
  case     what a case is: title, row, curve, x, targets
  sample   one window of one entry: case, label, round, load, values
  absent   a system that could not be measured in a case, and why
  refused  a window whose conservation check failed: it has no figure
  done     a case is complete, or was left out for lack of time
"""

import dataclasses
import itertools
import json
import pathlib

from .model import Target


@dataclasses.dataclass
class CaseResult:
    """Everything known about one case: samples[label][round] = values."""
    id: str
    title: str
    row: str = ""
    curve: str = ""
    x: float = 0
    targets: tuple = ()
    labels: tuple = ()
    samples: dict = dataclasses.field(default_factory=dict)
    loads: dict = dataclasses.field(default_factory=dict)
    absent: dict = dataclasses.field(default_factory=dict)
    refused: list = dataclasses.field(default_factory=list)
    run: dict = dataclasses.field(default_factory=dict)
    finished: bool = False

    def series(self, label, metric):
        """The metric of each round; None if it was not measured."""
        rounds = self.samples.get(label, {})
        last = max((max(by_round, default=-1) for by_round in self.samples.values()), default=-1)
        return [rounds.get(number, {}).get(metric) for number in range(last + 1)]


class Writer:
    """Appends lines to the file of a run."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, kind, **fields):
        line = json.dumps({"kind": kind, **fields}, ensure_ascii=False, sort_keys=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def case(self, case):
        self.write("case", id=case.id, title=case.title, row=case.row, curve=case.curve, x=case.x,
                   labels=[entry.label for entry in case.entries],
                   targets=[dataclasses.asdict(target) for target in case.targets])


def read_lines(path):
    """All lines except a last line that was cut off when the run was killed."""
    for text in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue


def _take(results, newest, line, run):
    """Adds the content of one line. newest: results of the file that is being read, by case."""
    kind = line["kind"]
    if kind == "case":
        newest[line["id"]] = result = CaseResult(
            line["id"], line["title"], line["row"], line["curve"], line["x"],
            tuple(Target(**fields) for fields in line["targets"]), tuple(line["labels"]), run=run)
        # A finished case is replaced only by one that is finished, too.
        if result.id not in results or not results[result.id].finished:
            results[result.id] = result
        return
    result = newest.get(line.get("case"))
    if result is None:
        return
    if kind == "sample":
        result.samples.setdefault(line["label"], {})[line["round"]] = line["values"]
        result.loads[line["label"]] = line["load"]
    elif kind == "absent":
        result.absent[line["label"]] = line["why"]
    elif kind == "refused":
        result.refused.append((line["label"], line["round"], line["why"]))
    elif kind == "done" and not line.get("left_out"):
        result.finished = True
        results[result.id] = result


def read(paths):
    """(runs, results): the run lines, and a CaseResult for each case that has samples or absent systems.
    Files are read in the order given: a case that is measured again replaces its results in earlier files."""
    runs, results = [], {}
    for path in paths:
        run, newest = {}, {}
        for line in read_lines(path):
            if line["kind"] == "run":
                run = {**line, "file": pathlib.Path(path).name}
                runs.append(run)
            else:
                _take(results, newest, line, run)
    return runs, {id_: result for id_, result in results.items()
                  if result.samples or result.absent}


def new_file(folder, name, cases):
    """folder/name, or with -2, -3 ... before its suffix: the first file that has none of these cases. A
    second run on the same day is a run of its own."""
    path = folder / name
    for number in itertools.count(2):
        if not finished(path) & cases:
            return path
        path = folder / f"{pathlib.Path(name).stem}-{number}.jsonl"


def finished(path):
    """The cases that a resumed run need not measure again."""
    if not pathlib.Path(path).exists():
        return set()
    return {line["case"] for line in read_lines(path)
            if line["kind"] == "done" and not line.get("left_out")}
