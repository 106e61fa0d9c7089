"""From tidy frames to tables, pictures, captions and the page; words stand in `templates`."""
