"""The benchmark: starts private servers, measures them in turns, and writes the results.

Flow: catalog (the cases) -> runner (rounds, in turns) -> results (JSON lines)
      -> judge (ratios against targets) -> tables, plots, page -> publish (documents).
"""
