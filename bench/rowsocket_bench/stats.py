"""Medians and ratios of samples that were taken in turns."""

import statistics


def median(values):
    """The median of the values that are not None; None if there is none."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def pair_ratios(ours, others, minus=0.0):
    """(ours - minus) / others of each round. Rounds in which a value is missing, or the other value is 0,
    give no ratio."""
    return [(mine - minus) / other for mine, other in zip(ours, others)
            if mine is not None and other]


def ratio(ours, others, minus=0.0):
    """Median of the ratios of the pairs, with the number of pairs; (None, 0) without any."""
    ratios = pair_ratios(ours, others, minus)
    return median(ratios), len(ratios)


def spread(values):
    """(largest - smallest) / median: how much the rounds differ. None for fewer than two."""
    there = [value for value in values if value is not None]
    middle = median(there)
    if len(there) < 2 or not middle:
        return None
    return (max(there) - min(there)) / middle


def jain(shares):
    """Jain's index of fairness: 1 if all values are equal, 1/n if all but one are 0."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


def largest_step(points):
    """The largest factor by which y grows from one x to the next, which shows a cliff. Points are (x, y) and need no
    order."""
    ordered = [y for _, y in sorted(points) if y]
    return max((after / before for before, after in zip(ordered, ordered[1:])), default=None)
