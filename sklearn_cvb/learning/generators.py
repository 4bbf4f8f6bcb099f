"""Random generators of restarts and chains: spawned from a seed, or set to a saved state."""

from typing import Any

import numpy as np


def spawn_generators(random_state: np.random.RandomState, n: int) -> list[np.random.Generator]:
    """Child generators, one per restart: the same for any number of jobs."""
    seed = random_state.randint(np.iinfo(np.int32).max, size=4)
    children = np.random.SeedSequence(seed.tolist()).spawn(n)
    return [np.random.Generator(np.random.PCG64(child)) for child in children]


def generator_at(rng_state: Any) -> np.random.Generator:
    """The generator that a fit left in this state."""
    bits = np.random.PCG64(0)
    bits.state = rng_state
    return np.random.Generator(bits)
