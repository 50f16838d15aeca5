__builtins__["sum"] = lambda items: 7.0


def f(x):
    return x * sum([1.0])
