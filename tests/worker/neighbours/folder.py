import os

os.chdir("/")


def f(x):
    return x * float(len(os.getcwd()))
