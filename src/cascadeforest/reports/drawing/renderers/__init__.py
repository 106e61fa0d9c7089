"""One module per kind of table or figure: its `render(experiment, results)` gives tidy rows and a view of them."""
