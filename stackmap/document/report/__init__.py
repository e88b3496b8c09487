"""The page of a report, one file per section: values → blocks, which HTML and Markdown draw."""
