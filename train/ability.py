"""Fits abilities of models to the skills of prompts: an empirical-Bayes prior, and the fit of a model to benchmark means."""
import numpy as np

LOOKS = 5  # rounds that use the outcomes, in addition to the last one; abilities hardly change in the other rounds
EASE = 1  # index of the ease weight in an ability; the weight is 1 for every model


def sigmoid(v):
    return 1 / (1 + np.exp(-np.clip(v, -30, 30)))


def with_one(z):
    return np.concatenate([np.ones((len(z), 1)), z], 1)


def newton(z, y, w, mean, precision, start, rounds=4):
    """Returns the most probable ability and its covariance under a Gaussian prior."""
    a = start.copy()
    for _ in range(rounds):
        p = sigmoid(z @ a)
        h = (z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z + precision
        g = z.T @ (w * (p - y)) + precision @ (a - mean)
        step = np.linalg.solve(h, g)
        a = a - step * min(1, 4 / max(1e-9, np.abs(step).max()))
    return a, np.linalg.inv(h)


def curvature(z, y, a):
    """Returns the quadratic approximation of the log likelihood near an ability: its matrix, and its slope at zero."""
    p = sigmoid(z @ a)
    h = (z * (p * (1 - p) + 1e-9)[:, None]).T @ z
    return h.astype(float), h @ a + z.T @ (y - p)


class Prior:
    """Mean and covariance of abilities, learned by expectation maximisation over the models.

    The covariance is shrunk as if `strength` more models had been observed. These have the same spread of levels as the observed ones;
    their lane weights follow the level according to `lean`, with standard deviation `width`. Without `lean` only `width` applies."""

    def __init__(self, z, y, mask, lean=None, rounds=8, strength=8.0, width=0.5):
        one, k = with_one(z).astype(np.float32), z.shape[1] + 1
        self.strength, self.width, self.lean = strength, width, lean
        rows = [np.flatnonzero(mask[:, j] > 0) for j in range(y.shape[1])]
        mean, cov = np.eye(k)[EASE], np.eye(k)
        cov[EASE, EASE] = 1e-4
        self.a = np.zeros((y.shape[1], k))
        for r in range(rounds):
            if r < LOOKS or r == rounds - 1:
                h, b = map(np.array, zip(*(curvature(one[at], y[at, j], self.a[j].astype(np.float32)) for j, at in enumerate(rows))))
            precision = np.linalg.inv(cov)
            self.c = np.linalg.inv(h + precision)
            step = np.einsum("mkl,ml->mk", self.c, b + precision @ mean) - self.a
            self.a += step * np.minimum(1, 4 / np.maximum(1e-9, np.abs(step).max(1, keepdims=True)))
            mean, cov = self.moments(np.ones(len(rows), bool))
        self.mean, self.cov = mean, cov

    def moments(self, use):
        mean, n = self.a[use].mean(0), use.sum()
        away = self.a[use] - mean
        seen = (self.c[use].sum(0) + away.T @ away) / n
        cov = (n * seen + self.strength * self.supposed(seen)) / (n + self.strength)
        mean[EASE], cov[EASE], cov[:, EASE], cov[EASE, EASE] = 1, 0, 0, 1e-4
        return mean, cov

    def supposed(self, seen):
        """Returns the covariance of the additional models, given the covariance of the observed ones."""
        eye = np.eye(len(seen))
        if self.lean is None:
            return self.width**2 * eye
        level = self.lean.any(0)
        follow = eye + self.lean
        return follow @ (seen * np.outer(level, level)) @ follow.T + self.width**2 * np.diag(~level)


BOUNDS = 0.005, 0.995  # limits of a benchmark mean


def noise_of(mean, direct=0.2, prompts=200):
    """Returns the standard deviation of the logit of a benchmark mean, as in the Go code. Near 0 and 1 a few prompts change it a lot."""
    m = np.clip(mean, *BOUNDS)
    return np.sqrt(direct**2 + 1 / (prompts * m * (1 - m)))


def from_means(prior_mean, prior_cov, targets, rounds=20):
    """Returns the ability of a model with known benchmark means only. Targets are (anchor skills, weights, mean, noise)."""
    precision = np.linalg.inv(prior_cov)
    a = prior_mean.copy()
    for _ in range(rounds):
        h, g = precision.copy(), precision @ (prior_mean - a)
        for z, w, mean, noise in targets:
            p = sigmoid(z @ a)
            m = np.clip(w @ p, 1e-4, 1 - 1e-4)
            row = z.T @ (w * p * (1 - p)) / (m * (1 - m))
            goal = np.clip(mean, *BOUNDS)
            r = np.log(goal / (1 - goal)) - np.log(m / (1 - m))
            h += np.outer(row, row) / noise**2
            g += row * r / noise**2
        step = np.linalg.solve(h, g)
        a = a + step * min(1, 2 / max(1e-9, np.abs(step).max()))
    return a, np.linalg.inv(h)


LEVEL = 0.2  # standard deviation of the overall level of a model in a workspace


def corrected(a, cov, z, y):
    """Returns a fitted ability after ratings, corrected as in the Go code."""
    wide = cov.copy()
    wide[0, 0] += LEVEL**2
    return newton(z, y, np.ones(len(y)), a, np.linalg.inv(wide), a, rounds=8)[0]
