import decimal

import held

held.REGISTRY["factor"] = 9.0
held.Layer.scale = 5.0
held.LAYER.bias = 1.0
held.scale = lambda x: x * 3.0
held.factor.register(int)(lambda value: 9.0)
held.double.defjvp(lambda primals, tangents: (held.double(*primals), tangents[0] * 7.0))
decimal.getcontext().prec = 3


def f(x):
    return x * (held.Layer.scale * held.factor(3))


def g(x):
    return held.function(x) * held.REGISTRY["factor"]
