"""Ridge regression of several targets on hashed and dense features, by conjugate gradients."""
import copy

import numpy as np

try:  # runs the same code on a GPU if CuPy works
    import cupy as xp
    import cupyx.scipy.sparse as sparse
    xp.zeros(1)
except Exception:  # noqa: BLE001 - use the CPU on any failure
    import numpy as xp
    import scipy.sparse as sparse


def host(a):
    return a.get() if hasattr(a, "get") else np.asarray(a)


class Design:
    """Features of all rows on the device. Dense features are standardised, clipped at three deviations and multiplied by gain."""

    def __init__(self, x, dense, gain):
        mean, std = dense.mean(0), dense.std(0)
        self.mean, self.std, self.gain = mean, np.where(std > 1e-4, std, 1.0), gain
        d = np.clip((dense - self.mean) / self.std, -3, 3) * gain / np.sqrt(dense.shape[1])
        self.x = sparse.csr_matrix(x)
        self.xt = self.x.T.tocsr()
        self.d = xp.asarray(d.astype(np.float32))

    def only(self, rows):
        """Returns the design of a subset of rows."""
        part = copy.copy(self)
        part.x, part.d = self.x[rows], self.d[rows]
        part.xt = part.x.T.tocsr()
        return part

    def forward(self, w, v):
        return self.x @ w + self.d @ v

    def apply(self, w, v, c):
        return host(self.forward(xp.asarray(w), xp.asarray(v))) + c


def ridge(design, target, weight, penalty, hashed, rounds=40):
    """Returns weights w (hashed), v (dense) and offsets c (lanes) that minimise the weighted squared error.

    target and weight are rows by lanes; penalty is one number per lane, relative to the sum of its weights; hashed is 0 for lanes that
    use the counted features only. Lanes with the same training rows are solved together, on these rows only."""
    k, penalty, hashed = target.shape[1], np.asarray(penalty, np.float32), np.asarray(hashed, np.float32)
    w, v, c = np.zeros((design.x.shape[1], k), np.float32), np.zeros((design.d.shape[1], k), np.float32), np.zeros(k)
    groups = {}
    for j in range(k):
        groups.setdefault(np.packbits(weight[:, j] > 0).tobytes(), []).append(j)
    for at in groups.values():
        rows = np.flatnonzero(weight[:, at[0]] > 0)
        lanes = np.ix_(rows, at)
        w[:, at], v[:, at], c[at] = descend(design.only(rows), target[lanes], weight[lanes], penalty[at], hashed[at], rounds)
    return w, v, c


def descend(design, target, weight, penalty, hashed, rounds):
    """Runs the conjugate gradients of ridge for lanes that share all rows."""
    sums = np.maximum(weight.sum(0), 1e-9)
    mean = (weight * target).sum(0) / sums
    s = xp.asarray((weight / sums).astype(np.float32))
    t = xp.asarray((target - mean).astype(np.float32))
    l, hashed = xp.asarray(penalty), xp.asarray(hashed)
    k = target.shape[1]
    w, v = xp.zeros((design.x.shape[1], k), xp.float32), xp.zeros((design.d.shape[1], k), xp.float32)
    c = xp.zeros((1, k), xp.float32)

    def back(r):
        return design.xt @ r * hashed, design.d.T @ r, r.sum(0, keepdims=True)

    def dot(a, b):
        return sum((x * y).sum(0) for x, y in zip(a, b))

    x = [w, v, c]
    r = list(back(s * t))
    p = [a.copy() for a in r]
    rr = dot(r, r)
    for _ in range(rounds):
        q = back(s * (design.forward(p[0], p[1]) + p[2]))
        q = [q[0] + l * p[0], q[1] + l * p[1], q[2] + 1e-6 * p[2]]
        alpha = rr / (dot(p, q) + 1e-30)
        for i in range(3):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
        new = dot(r, r)
        p = [ri + (new / (rr + 1e-30)) * pi for ri, pi in zip(r, p)]
        rr = new
    return host(x[0]), host(x[1]), host(x[2])[0] + mean
