"""Abilities of models given the skills of prompts: an empirical-Bayes prior, and the fit of a model to benchmark means."""
import numpy as np

EASE = 1  # where in an ability the weight of ease stands: one for every model


def sigmoid(v):
    return 1 / (1 + np.exp(-np.clip(v, -30, 30)))


def with_one(z):
    return np.concatenate([np.ones((len(z), 1)), z], 1)


def newton(z, y, w, mean, precision, start, rounds=4):
    """The most probable ability and its covariance under a Gaussian prior."""
    a = start.copy()
    for _ in range(rounds):
        p = sigmoid(z @ a)
        h = (z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z + precision
        g = z.T @ (w * (p - y)) + precision @ (a - mean)
        step = np.linalg.solve(h, g)
        a = a - step * min(1, 4 / max(1e-9, np.abs(step).max()))
    return a, np.linalg.inv(h)


class Prior:
    """Mean and covariance of abilities, learned by expectation and maximisation over the models."""

    def __init__(self, z, y, mask, rounds=8, tempering=1.0, strength=8.0, width=0.5):
        one, k = with_one(z), z.shape[1] + 1
        self.rows = [np.flatnonzero(mask[:, j] > 0) for j in range(y.shape[1])]
        self.strength, self.width = strength, width
        mean, cov = np.eye(k)[EASE], np.eye(k)
        cov[EASE, EASE] = 1e-4
        self.a, self.c = np.zeros((y.shape[1], k)), np.repeat(np.eye(k)[None], y.shape[1], 0)
        for _ in range(rounds):
            precision = np.linalg.inv(cov)
            for j, at in enumerate(self.rows):
                self.a[j], self.c[j] = newton(one[at], y[at, j], np.full(len(at), tempering), mean, precision, self.a[j], 2)
            mean, cov = self.moments(np.ones(y.shape[1], bool))
        self.mean, self.cov = mean, cov

    def moments(self, use):
        mean = self.a[use].mean(0)
        away = self.a[use] - mean
        cov = (self.c[use].sum(0) + away.T @ away + self.strength * self.width**2 * np.eye(len(mean))) / (use.sum() + self.strength)
        mean[EASE], cov[EASE], cov[:, EASE], cov[EASE, EASE] = 1, 0, 0, 1e-4
        return mean, cov


def from_means(prior_mean, prior_cov, targets, rounds=20):
    """The ability of a model of which only benchmark means are known: targets are (anchor skills, weights, mean, noise)."""
    precision = np.linalg.inv(prior_cov)
    a = prior_mean.copy()
    for _ in range(rounds):
        h, g = precision.copy(), precision @ (prior_mean - a)
        for z, w, mean, noise in targets:
            p = sigmoid(z @ a)
            m = np.clip(w @ p, 1e-4, 1 - 1e-4)
            row = z.T @ (w * p * (1 - p)) / (m * (1 - m))
            goal = np.clip(mean, 0.005, 0.995)
            r = np.log(goal / (1 - goal)) - np.log(m / (1 - m))
            h += np.outer(row, row) / noise**2
            g += row * r / noise**2
        step = np.linalg.solve(h, g)
        a = a + step * min(1, 2 / max(1e-9, np.abs(step).max()))
    return a, np.linalg.inv(h)
