"""How good a system is, on tasks read from files: who is compared, on what, and the table that comes of it.

`kinds` says what can be measured, `tasks` reads it, `systems` opens what is measured, `run` measures, `table` and `render`
show. This file imports nothing, so that the page and the command line stay light.
"""
