"""A fleet of hosts: what each host exports about its stacks, and the figures of all its volumes."""
