"""Imports a module in another thread."""

import importlib
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor() as pool:
    pool.submit(importlib.import_module, "threaded").result()


def f(x):
    return x * 1.0
