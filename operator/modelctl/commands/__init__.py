"""The subcommands. A new one is a file here and its row in the table; none knows another."""

from modelctl.command import Command
from modelctl.commands import delete_cluster, doctor, plan, releases_delete, releases_list, releases_status

COMMANDS: tuple[Command, ...] = (
    releases_list.COMMAND,
    releases_status.COMMAND,
    releases_delete.COMMAND,
    plan.COMMAND,
    doctor.COMMAND,
    delete_cluster.COMMAND,
)

GROUPS = {
    "releases": "releases of LLM servers, through the release API",
    "delete": "take a whole cluster down, in order",
}
"""What the first of two words is about, for the help."""
