"""Prints the oldest versions that pyproject.toml allows, as constraints for pip."""

import tomllib
from pathlib import Path

text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
project = tomllib.loads(text)["project"]
groups = [project["dependencies"], *project["optional-dependencies"].values()]
for requirement in sorted({requirement for group in groups for requirement in group}):
    name, oldest = requirement.split(">=")
    print(f"{name}=={oldest}")
