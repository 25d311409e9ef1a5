"""Alone in its folder: spark-submit puts the folder of what it runs before everything else that can be imported."""
