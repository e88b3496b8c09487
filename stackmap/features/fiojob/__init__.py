"""The measured load of one device as a job for fio."""
