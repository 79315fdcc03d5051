"""tool-editor: reads, writes, patches, searches and lists files of the work folder."""
