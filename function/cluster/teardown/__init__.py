"""The staged teardown: a delete is refused, recorded, and carried out by the function, stage by stage.

`request` reads what is asked for, `plan` decides one pass, `removal` drops the resources of a stage,
`release` lets go at the end, `report` finds the words. What a stage drops is written down on the gate one
pass before it leaves desired, and the stage in the status one pass before it acts: so a restart of anything
resumes where it was.
"""

from function.cluster.teardown.plan import frozen, stand_by, take_down
from function.cluster.teardown.removal import GATE
from function.cluster.teardown.request import begins, read

__all__ = ["GATE", "begins", "frozen", "read", "stand_by", "take_down"]
