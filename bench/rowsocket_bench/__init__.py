"""The benchmark: starts private servers, measures them in turns, and writes what came out.

Flow: catalog (what is measured) -> runner (rounds, in turns) -> results (JSON lines)
      -> judge (ratios against targets) -> tables, plots, page -> publish (documents).
"""
