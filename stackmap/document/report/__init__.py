"""What stands on the page of a report, a file a section: values → blocks, which HTML and Markdown draw."""
