import package


def f(x):
    return package.inner.f(x)
