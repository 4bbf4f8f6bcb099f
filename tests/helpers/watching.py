"""Being there when an algorithm sweeps in the middle of a fit."""


def watch(model, name, watcher):
    """Let a method of a model's algorithm be called by ``watcher(method, *arguments)``.

    Until ``del model._algorithm``.
    """
    sound = model._algorithm

    def watched():
        algorithm = sound()
        method = getattr(algorithm, name)
        setattr(algorithm, name, lambda *arguments: watcher(method, *arguments))
        return algorithm

    model._algorithm = watched


def count_sweeps(model):
    """A list that grows with each sweep of a model."""
    swept = []
    watch(model, "sweep", lambda sweep, *arguments: swept.append(None) or sweep(*arguments))
    return swept
