"""One module per kind of table or figure: its `render(cells)` gives tidy rows and a view of them."""
