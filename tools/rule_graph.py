"""The rule graph of a study as SVG: shared inputs at the left, tables and figures at the right."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
COLUMN, ROW, HEIGHT = 60, 30, 20
"""Pixels between two columns, between the centres of two boxes of a column, and of the height of a box."""
CHARACTER = 6.2
"""Pixels that a character takes."""


@functools.cache
def rule_edges() -> tuple[tuple[str, str], ...]:
    """(rule, rule that reads its output) of the sample run, as Snakemake plans it."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--cores", "1", "--forceall"]
    graph = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = dict(re.findall(r"^\s*(id\d+)\[(.+)\]", graph, re.MULTILINE))
    return tuple(sorted((names[a], names[b]) for a, b in re.findall(r"^\s*(id\d+) --> (id\d+)", graph, re.MULTILINE)))


def graph_of(study: str, edges: tuple[tuple[str, str], ...]) -> nx.DiGraph:
    """The rules of a study and the shared rules whose outputs they read, without edges that follow from other edges."""
    prefix = f"{study}_"
    graph = nx.DiGraph((a, b) for a, b in edges if b.startswith(prefix))
    reduced: nx.DiGraph = nx.transitive_reduction(graph)
    return reduced


def columns_of(graph: nx.DiGraph) -> list[list[str]]:
    """Rules by column; within a column in the order of the mean row of their inputs, which keeps edges short."""
    depth: dict[str, int] = {}
    for rule in nx.topological_sort(graph):
        depth[rule] = max((depth[source] + 1 for source in graph.predecessors(rule)), default=0)
    columns: dict[int, list[str]] = defaultdict(list)
    for rule in sorted(graph):
        # A rule without inputs stands just left of the first rule that reads it.
        first = min((depth[reader] for reader in graph.successors(rule)), default=depth[rule] + 1)
        columns[first - 1 if not depth[rule] else depth[rule]].append(rule)
    ordered = [columns[number] for number in sorted(columns)]
    for _ in range(4):
        rows = {rule: row - len(column) / 2 for column in ordered for row, rule in enumerate(column)}
        for column in ordered:
            column.sort(key=lambda rule: (_mean_row(graph, rule, rows), rule))
    return ordered


def _mean_row(graph: nx.DiGraph, rule: str, rows: dict[str, float]) -> float:
    neighbours = [*graph.predecessors(rule), *graph.successors(rule)]
    return sum(rows[neighbour] for neighbour in neighbours) / len(neighbours) if neighbours else 0


def svg(graph: nx.DiGraph, study: str) -> str:
    """A graph as an SVG element: boxes with the names of rules, dashed where they are shared by several studies."""
    columns = columns_of(graph)
    labels = {rule: rule.removeprefix(f"{study}_") for rule in graph}
    height = ROW * max(len(column) for column in columns)
    left, boxes, places = 2.0, [], {}
    for column in columns:
        width = max(len(labels[rule]) for rule in column) * CHARACTER + 14
        for row, rule in enumerate(column):
            y = (height - ROW * len(column)) / 2 + ROW * (row + 0.5)
            places[rule] = (left, left + width, y)
            kind = "study" if rule != labels[rule] else "shared"
            boxes.append(
                f'<g class="{kind}"><rect x="{left:.0f}" y="{y - HEIGHT / 2:.0f}" width="{width:.0f}" height="{HEIGHT}"/>'
                f'<text x="{left + width / 2:.0f}" y="{y:.0f}">{escape(labels[rule])}</text></g>'
            )
        left += width + COLUMN
    lines = []
    for source, target in sorted(graph.edges):
        (_, x1, y1), (x2, _, y2) = places[source], places[target]
        middle = (x1 + x2) / 2
        lines.append(f'<path d="M{x1:.0f} {y1:.0f} C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"/>')
    size = f'width="{left - COLUMN + 2:.0f}" height="{height}"'
    label = f'role="img" aria-label="Rules of {study}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {label} {size}>{"".join(lines + boxes)}</svg>'


def study_graph(study: str) -> str:
    """The graph of a study's rules in the sample run, as a block of HTML."""
    return f'<div class="rule-graph">{svg(graph_of(study, rule_edges()), study)}</div>'
