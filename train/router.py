"""The whole predictor as one value: learned from some rows, applied to others."""
import numpy as np

import targets
from ability import Prior, with_one
from ridge import ridge

SETTINGS = {
    "buckets": 81920, "inner": 5, "gain": 1.0, "rounds": 40,
    "joint": 100.0, "label": 3.0, "reliable": 6.0,
    "own": {"mmlu": 20.0, "mmlu_pro": 15.0, "gsm": 50.0, "math": 60.0, "logic": 10.0, "tools": 10.0, "code": 10.0, "qa": 100.0, "common": 30.0},
    "sharpness": 12.0, "known": [-9.0, 12.0],
}


class Router:
    """Learned from the rows `at`: y and mask are rows by models, family numbers refer to names."""

    def __init__(self, design, at, family, rows, y, mask, names, settings=SETTINGS, fold=None):
        s = self.settings = settings
        self.design, self.names = design, names
        joint, own = targets.lanes(names)
        self.joint, self.own = joint, own
        self.heads = [f for _, _, f in own]
        target, weight, penalty = self.teach(rows, y, mask, family)
        self.n = design.d.shape[0]
        # Cross-fitted lanes: the abilities must see values as honest as those of new prompts.
        inner = np.zeros((len(at), target.shape[1]), np.float32)
        if fold is not None:
            for f in range(s["inner"]):
                w = self.solve(at, target, weight * (fold != f)[:, None], penalty)
                inner[fold == f] = self.design_rows(w, at[fold == f])
        self.w, self.v, self.c = self.solve(at, target, weight, penalty)
        if fold is None:
            inner = self.design_rows((self.w, self.v, self.c), at)
        self.scale_lanes(inner, family)
        self.inner = inner
        label = self.split(inner)[2]
        # How high a family scores its own prompts: a prompt that scores much less is unlike all of them.
        self.typical = np.array([np.median(label[family == f, f]) for f in range(len(names))])
        self.family_mean = np.full(len(names), 1 / len(names))

    def teach(self, rows, y, mask, family):
        s, k = self.settings, len(self.names)
        t, count = targets.per_source(rows, y, mask)
        t, count = targets.share_groups(rows, t, count, family)
        reliable = count / (count + s["reliable"])
        cols, weights, pen = [], [], []
        size = np.bincount(family, weights=reliable, minlength=k)
        for part, j, own in self.joint + self.own:
            balance = 1.0 if own >= 0 else (1 / np.sqrt(np.maximum(size, 1)))[family]
            cols.append(t[:, j])
            weights.append(part[family] * reliable * balance)
            pen.append(s["own"][self.names[own]] if own >= 0 else s["joint"])
        for f in range(k):
            cols.append((family == f).astype(np.float32))
            weights.append(np.ones(len(rows)))
            pen.append(s["label"])
        weight = np.stack(weights, 1)
        return np.stack(cols, 1), weight, np.array(pen) * weight.max(0) / weight.sum(0)

    def solve(self, at, target, weight, penalty):
        full_t, full_w = np.zeros((self.n, target.shape[1]), np.float32), np.zeros((self.n, target.shape[1]), np.float32)
        full_t[at], full_w[at] = target, weight
        return ridge(self.design, full_t, full_w, penalty, self.settings["rounds"])

    def design_rows(self, wvc, at):
        return self.design.apply(*wvc)[at]

    def scale_lanes(self, inner, family):
        """Own and joint lanes get mean zero and deviation one over the rows they were taught with."""
        for j, (part, _, own) in enumerate(self.joint + self.own):
            inside = family == own if own >= 0 else part[family] > 0
            mean, std = inner[inside, j].mean(), inner[inside, j].std() + 1e-6
            inner[:, j] = (inner[:, j] - mean) / std
            self.w[:, j] /= std
            self.v[:, j] /= std
            self.c[j] = (self.c[j] - mean) / std

    def lanes(self, at):
        return self.design_rows((self.w, self.v, self.c), at)

    def split(self, u):
        j, o = len(self.joint), len(self.own)
        label = u[:, j + o :]
        e = np.exp(self.settings["sharpness"] * (label - label.max(1, keepdims=True)))
        return u[:, :j], u[:, j : j + o], label, e / e.sum(1, keepdims=True)

    def known(self, u):
        k = self.settings["known"]
        label = self.split(u)[2]
        best = label.argmax(1)
        return 1 / (1 + np.exp(-(k[0] + k[1] * label[np.arange(len(u)), best] / self.typical[best])))

    def skills(self, u, known=None):
        joint, own, _, share = self.split(u)
        known = self.known(u) if known is None else known
        known = np.broadcast_to(np.asarray(known, float).reshape(-1, 1), (len(u), 1))
        level = known * share + (1 - known) * self.family_mean
        return np.concatenate([np.clip(joint, -4, 4), level, known * share[:, self.heads] * np.clip(own, -4, 4)], 1)

    def learn_abilities(self, y, mask):
        self.prior = Prior(self.skills(self.inner), y, mask)
        return self


def chance(z, ability):
    return 1 / (1 + np.exp(-with_one(z) @ ability.T))
