"""The other side of a comparison: other libraries' EM, and the machine's matrix product."""

import importlib.metadata
import importlib.util
import warnings

import numpy as np

REQUIRED = ("hmmlearn",)
OPTIONAL = ("pomegranate", "dynamax", "torch_struct", "pyarrow")


def versions():
    """The version of each peer, None where it cannot be imported."""
    return {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}


def _version(name):
    if importlib.util.find_spec(name) is None:
        return None
    return importlib.metadata.version(name)


def hmmlearn_iteration(tokens, lengths, n_states, n_symbols):
    """One EM iteration of hmmlearn in its fastest mode, as a function with the `model` it moves."""
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(
        n_states,
        n_features=n_symbols,
        n_iter=1,
        tol=-np.inf,
        implementation="scaling",
        random_state=0,
    )
    X = tokens.astype(np.int64).reshape(-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, lengths)

    # The steps of its fit loop, without the checks and the random start before the first.
    def iterate():
        statistics, _ = model._do_estep(X, lengths)
        model._do_mstep(statistics)

    iterate.model = model
    return iterate


def pomegranate_iteration(table, n_states, n_symbols):
    """One EM iteration of pomegranate on equally long sequences, as a function.

    `table` (n_sequences, length).
    """
    import torch
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    model = DenseHMM(
        [
            Categorical([row])
            for row in rng.dirichlet(np.ones(n_symbols), n_states).astype(np.float32)
        ],
        edges=rng.dirichlet(np.ones(n_states), n_states).astype(np.float32) * 0.99,
        starts=rng.dirichlet(np.ones(n_states)).astype(np.float32),
        ends=np.full(n_states, 0.01, np.float32),
        max_iter=1,
    )
    X = torch.tensor(table[:, :, None])

    def iterate():
        model.summarize(X)
        model.from_summaries()

    return iterate


def dynamax_iteration(table, n_states, n_symbols):
    """One EM iteration of dynamax on equally long sequences, compiled, as a function.

    `table` (n_sequences, length).
    """
    from dynamax.hidden_markov_model import CategoricalHMM

    model = CategoricalHMM(n_states, emission_dim=1, num_classes=n_symbols)
    return _dynamax_step(model, table[:, :, None])


def dynamax_gaussian_iteration(table, n_states):
    """One EM iteration of dynamax with independent normal columns, as a function.

    `table` (n_sequences, length, n_columns): computed with in float32, as dynamax does by default.
    """
    from dynamax.hidden_markov_model import DiagonalGaussianHMM

    return _dynamax_step(DiagonalGaussianHMM(n_states, table.shape[2]), table)


def dynamax_autoregressive_iteration(table, n_states):
    """One EM iteration of dynamax with autoregression of order 1, in float32, as a function."""
    import jax
    from dynamax.hidden_markov_model import LinearAutoregressiveHMM

    model = LinearAutoregressiveHMM(n_states, table.shape[2], num_lags=1)
    return _dynamax_step(model, table, jax.vmap(model.compute_inputs)(jax.numpy.asarray(table)))


def _dynamax_step(model, table, *inputs):
    """One EM iteration of a model on sequences of equal length, compiled."""
    import jax

    parameters, properties = model.initialize(jax.random.PRNGKey(0))
    given = jax.numpy.asarray(table), *inputs

    @jax.jit
    def step(parameters, state):
        statistics, _ = jax.vmap(lambda *sequence: model.e_step(parameters, *sequence))(*given)
        return model.m_step(parameters, properties, statistics, state)

    kept = [parameters, model.initialize_m_step_state(parameters, properties)]

    def iterate():
        kept[:] = jax.block_until_ready(step(*kept))

    return iterate


def matrix_product(rows, inner, columns):
    """A float64 matrix product as a function, and its number of floating-point operations."""
    rng = np.random.default_rng(0)
    left, right = rng.random((rows, inner)), rng.random((inner, columns))
    result = np.empty((rows, columns))
    return (lambda: np.matmul(left, right, out=result)), 2 * rows * inner * columns


def torch_struct_gradients(problem):
    """log p(words) of sentences under a full grammar, and its gradients, by torch-struct."""
    import torch
    from torch_struct import SentCFG

    torch.set_num_threads(1)
    wide, narrow = problem.dense.n_wide, problem.dense.n_narrow
    n, length = problem.tokens.shape
    theta = np.log(problem.theta).astype(np.float32)
    root = theta[:wide]
    rules = theta[wide : wide + wide * (wide + narrow) ** 2]
    terms = np.log(problem.terms.T[problem.tokens]).astype(np.float32)
    tables = [
        torch.tensor(terms),
        torch.tensor(rules.reshape(1, wide, wide + narrow, wide + narrow)).repeat(n, 1, 1, 1),
        torch.tensor(root[None]).repeat(n, 1),
    ]
    lengths = torch.full((n,), length)

    def gradients():
        for table in tables:
            table.requires_grad_(True)
            table.grad = None
        SentCFG(tuple(tables), lengths).partition.sum().backward()

    return gradients


def torch_struct_arcs(log_potentials, dtype):
    """Log of the summed weights of all projective trees with one root, and expected arcs.

    `log_potentials` (n_sentences, length, length): by head and child, those of roots on the
    diagonal. Returns arrays of shapes (n_sentences,) and (n_sentences, length, length).
    """
    import torch
    from torch_struct import DependencyCRF

    torch.set_num_threads(1)
    potentials = torch.tensor(log_potentials, dtype=getattr(torch, dtype), requires_grad=True)

    # The gradient costs no more than `marginals`, which would infer once more.
    def arcs():
        potentials.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            log_z = DependencyCRF(potentials, multiroot=False).partition
        log_z.sum().backward()
        return log_z.detach().numpy().ravel(), potentials.grad.numpy()

    return arcs
