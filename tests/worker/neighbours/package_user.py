import package.inner


def f(x):
    return package.inner.f(x)
