from .classifier import (
    HeroFilterClassifier as HeroFilterClassifier,
)
