"""MCP servers as a source of tools, prompts and resources (extra ``mcp``).

The SDK is imported where a server is started, never before. What a server says is data of a
stranger: every name, text and size of it is checked here before anything else sees it.
"""
