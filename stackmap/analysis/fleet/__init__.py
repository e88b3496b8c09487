"""A fleet of hosts: what a host exports about its stacks, and what a server's figures of all hosts say."""
