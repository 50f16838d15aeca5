import gc
import os
import random
import sys
import warnings

import jax
import numpy as np


def sets(x):
    """Leaves all that it can different from what it was."""
    jax.config.update("jax_numpy_rank_promotion", "raise")
    sys.setrecursionlimit(50_000)
    warnings.simplefilter("error")
    os.environ["NEIGHBOUR"] = "7"
    random.seed(5)
    np.random.seed(5)
    np.seterr(all="raise")
    gc.disable()
    gc.set_threshold(7)
    return x * float(sys.getrecursionlimit())
