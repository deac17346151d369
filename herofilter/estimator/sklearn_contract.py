"""scikit-learn's interface of estimators, with or without scikit-learn."""

import importlib
import importlib.util
import inspect
import warnings
from typing import Any, Self

from herofilter.errors import ConfigError, RunError, did_you_mean


class Parameters:
    """Gets and sets the arguments of the constructor as parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set some parameters and return the estimator itself."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ConfigError(
                    f"a parameter must be one of {', '.join(known)} "
                    f"(got {name!r}){did_you_mean(name, known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = inspect.signature(type(self).__init__).parameters
        given = {
            name: value
            for name, value in self.get_params().items()
            if repr(value) != repr(default[name].default)
        }
        listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}({listed})"


def has_sklearn() -> bool:
    """Return whether scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def classifier_base() -> type:
    """Return the base class of a classifier: from scikit-learn where it is installed."""
    if not has_sklearn():
        return Parameters
    base: Any = importlib.import_module("sklearn.base")

    class ClassifierBase(base.ClassifierMixin, base.BaseEstimator):  # type: ignore[misc]
        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = True
            return tags

    return ClassifierBase


def not_fitted(name: str) -> Exception:
    """Return the error of an estimator that is used before it is fitted."""
    text = f"this {name} must be fitted first (got no data yet); call fit, or load a saved one"
    if not has_sklearn():
        return RunError(text)
    error: Exception = importlib.import_module("sklearn.exceptions").NotFittedError(text)
    return error


def warn_column() -> None:
    """Warn, as scikit-learn does, that labels came as a column."""
    category: type[Warning] = UserWarning
    if has_sklearn():
        category = importlib.import_module("sklearn.exceptions").DataConversionWarning
    text = "A column-vector y was passed when a 1d array was expected; it is read as one"
    warnings.warn(text, category, stacklevel=6)
