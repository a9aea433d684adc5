"""What a wheel of the library holds: its packages and the data files beside them; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

LIBRARY = "workflow/lib"
# In a wheel, the folders of data files are inside the package: see attention_atlas/io/files.py.
DATA = {f"attention_atlas.{name}": f"workflow/{name}" for name in ("resources", "schemas")}

packages = [*find_packages(str(Path(__file__).resolve().parent / LIBRARY)), *DATA]
setup(
    packages=packages,
    package_dir={"": LIBRARY, **DATA},
    package_data={name: ["**/*"] for name in packages},
    exclude_package_data={"": ["**/__pycache__/*", "__pycache__/*"]},
    include_package_data=False,
)
