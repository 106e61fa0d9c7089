"""Tables, pictures and the page. What renderers need of it has its names here."""
# ruff: noqa: F401

from cascadeforest.reports.drawing import models
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.folded import differences as differences_below
from cascadeforest.reports.drawing.folded import told_of
from cascadeforest.reports.drawing.lines import (
    Cell,
    Row,
    common_places,
    difference_cell,
    mean_text,
    number_cell,
    numbered_lines,
    printed_text,
    published_cell,
    published_text,
    ratio_text,
    said_once,
)
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import (
    feature_words,
    metric_head,
    number_text,
    scaled,
)
from cascadeforest.reports.drawing.words import metric_label, number, reasons
