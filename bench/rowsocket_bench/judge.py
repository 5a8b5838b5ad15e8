"""Compares the measurements with the targets, by the median of the ratios of all pairs."""

import dataclasses

from . import stats
from .model import METRICS, metric_text


@dataclasses.dataclass(frozen=True)
class Verdict:
    target: object
    ours: object        # medians; None if not measured
    other: object
    value: object       # the median ratio, or the value itself for an absolute target
    pairs: int
    reached: object     # None: not measured
    why: str = ""

    @property
    def name(self):
        return METRICS[self.target.metric][0]

    def value_text(self):
        if self.value is None:
            return f"not measured{': ' + self.why if self.why else ''}"
        if self.target.other:
            return f"{self.value:.2f}"
        return metric_text(self.target.metric, self.value)

    def reached_text(self):
        return {None: "-", True: "yes", False: "**no**"}[self.reached]


def judge(result, target):
    ours = result.series(target.label, target.metric)
    mine = stats.median(ours)
    if not target.other:
        count = sum(value is not None for value in ours)
        reached = None if mine is None else target.holds(mine)
        return Verdict(target, mine, None, mine, count, reached,
                       result.absent.get(target.label, ""))
    others = result.series(target.other, target.metric)
    value, pairs = stats.ratio(ours, others, target.plus)
    why = result.absent.get(target.label) or result.absent.get(target.other, "")
    reached = None if value is None else target.holds(value)
    return Verdict(target, mine, stats.median(others), value, pairs, reached, why)


def verdicts(result):
    return [judge(result, target) for target in result.targets]
