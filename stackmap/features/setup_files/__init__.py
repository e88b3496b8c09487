"""``stackmap setup-files``: manual, completion, services and rules, from where pip left them to a prefix such as /usr/local."""
