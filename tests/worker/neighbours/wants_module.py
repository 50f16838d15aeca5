def f(x):
    try:
        import made
    except ImportError:
        return x
    return x * made.VALUE
