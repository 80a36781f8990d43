"""The cluster at one moment, as a frozen value: `read` makes it, everything else only looks at it.

`kinds` says what is read, `objects` what a snapshot is and what is asked of it. Only `read` does I/O.
"""
