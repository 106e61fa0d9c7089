"""From runs to what is read: published numbers, statistics, tables, figures, the regression check."""
