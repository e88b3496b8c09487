"""The page of a report, section by section: values → blocks, which HTML and Markdown draw."""
