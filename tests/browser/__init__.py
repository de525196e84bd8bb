"""The widget in a real browser, in real hosts, with real kernels.

A package, so that its browser and its servers end with its last test: Playwright's loop would get
in the way of async tests that come later.
"""
