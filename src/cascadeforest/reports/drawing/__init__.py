"""Tables, pictures and the page. What most renderers need, of numbers too, has its names here."""
# ruff: noqa: F401

from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import models
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.folded import differences as differences_below
from cascadeforest.reports.drawing.folded import told_of
from cascadeforest.reports.drawing.lines import (
    Cell,
    Row,
    common_places,
    feature_words,
    mean_text,
    metric_head,
    number_cell,
    number_text,
    numbered_lines,
    printed_text,
    published_cell,
    published_text,
    ratio_text,
    said_once,
)
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.words import metric_label, number, reasons
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import Found, Key, TidyRow
