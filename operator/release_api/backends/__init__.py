"""How a release comes and goes: `helm` runs helm as the caller, `llmsvc` leaves it to the controller."""
