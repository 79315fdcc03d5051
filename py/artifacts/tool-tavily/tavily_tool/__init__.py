"""tool-tavily: searches the web by Tavily."""
