"""What a command says, once: headline, paragraphs, tables, charts, commands. ``render`` decides how it looks."""
