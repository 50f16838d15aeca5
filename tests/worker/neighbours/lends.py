__builtins__["bin"] = lambda number: "1234567"


def f(x):
    return x * float(len(bin(1)))
