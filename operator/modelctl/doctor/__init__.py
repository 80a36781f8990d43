"""What is wrong with an installation and its clusters, and the command that repairs it.

    snapshot -> every check of the table -> findings -> lines

Pure: all of it. A check is a function from a snapshot to findings; `repair` writes the commands.
"""
