"""The commands of a migration to another layout; stackmap prints them and runs none."""
