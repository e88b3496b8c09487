"""How to get from the layout that is there to another: ways, each a list of commands for this very stack."""
