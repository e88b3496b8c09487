"""The ledger of traffic: what each device sent to another over an interval, whose it was, and why."""
