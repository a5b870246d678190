"""Centroid MBR: evidence as a few vectors, the means of clusters of it.

References
----------
H. Deguchi, Y. Sakai, H. Kamigaito, T. Watanabe, H. Tanaka, M. Utiyama. 2024. Centroid-based
efficient minimum Bayes risk decoding. Findings of ACL.
"""

from __future__ import annotations

import numpy as np

from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.pairs.pruning import Survivors
from decoding.minimum_risk.pairs.scores import Search, Vectors, check_expectations
from fstmetrics import Metric
from lattices.arrays import Array, floats, ints
from lattices.errors import OptionError
from lattices.spaces import NBest

_ROUNDS = 10


def has_vectors(metric: Metric) -> bool:
    """Tell whether a metric is a utility with an encoder."""
    return getattr(metric, "encoder", None) is not None


def centroid_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, count: int, seed: int = 0
) -> Search[Survivors]:
    """Search for what the head gives each candidate against centroids, each with its weight."""
    from fstmetrics import Utility
    from fstmetrics.external.utility import texts_of

    if count < 1:
        raise OptionError(f"there is at least 1 centroid, not {count}")
    if not isinstance(metric, Utility) or not has_vectors(metric):
        raise OptionError(
            f"{metric} has no vectors: centroids are for a utility with an encoder, "
            "Utility(head, encode=...)"
        )
    said = yield Vectors(metric, texts_of(candidates))
    heard = yield Vectors(metric, texts_of(evidence.nbest))
    start = choose_centroids(heard, evidence.weight, count, np.random.default_rng(seed))
    centroids, cluster = find_clusters(heard, evidence.weight, start)
    weight = np.bincount(cluster, weights=evidence.weight, minlength=len(centroids))
    one, other = np.divmod(np.arange(len(said) * len(centroids)), len(centroids))
    scores = metric.vector_scores(said[one], centroids[other].astype(said.dtype))
    expected = scores.reshape(len(said), len(centroids)) @ weight
    every = ints(np.arange(len(candidates)))
    return Survivors(every, check_expectations(floats(expected), metric), len(scores), False)


def choose_centroids(vectors: Array, weight: Array, count: int, rng: np.random.Generator) -> Array:
    """Return vectors to begin with, by k-means++: drawn by weight and squared distance."""
    chosen = [int(rng.choice(len(vectors), p=weight))]
    nearest = np.full(len(vectors), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, ((vectors - vectors[chosen[-1]]) ** 2).sum(axis=1))
        share = weight * nearest
        if share.sum() <= 0.0:
            break  # fewer different vectors than that
        chosen.append(int(rng.choice(len(vectors), p=share / share.sum())))
    return vectors[chosen].astype(np.float64)


def find_clusters(
    vectors: Array, weight: Array, start: Array, rounds: int = _ROUNDS
) -> tuple[Array, Array]:
    """Return the centroids of k-means, weighted, and the cluster of each vector.

    Examples
    --------
    >>> vectors = np.array([[0.0], [1.0], [8.0], [10.0]])
    >>> centroids, cluster = find_clusters(vectors, np.array([1, 1, 1, 3]), vectors[[0, 2]])
    >>> centroids.ravel().tolist(), cluster.tolist()
    ([0.5, 9.5], [0, 0, 1, 1])
    """
    centroids, cluster = start.copy(), np.full(len(vectors), -1)
    for _ in range(rounds):
        squares = (centroids**2).sum(axis=1) - 2.0 * (vectors @ centroids.T)
        nearest = squares.argmin(axis=1)
        if (nearest == cluster).all():
            break
        cluster = nearest
        belongs = (cluster[:, None] == np.arange(len(centroids))) * weight[:, None]
        mass = belongs.sum(axis=0)
        there = mass > 0.0
        centroids[there] = (belongs.T @ vectors)[there] / mass[there, None]
    return centroids, cluster
