"""The predictor. A lane is one regression output: a difficulty within a family of tasks, a joint measure, or a family score."""
import numpy as np

import targets
from ability import with_one
from artefact import CLIP, quantise
from ridge import ridge

SETTINGS = {
    "buckets": 81920, "blocks": [1.0, 1.5, 1.0, 0.5], "folds": 5, "gain": 1.0, "rounds": 40, "joint": 10.0, "label": 3.0, "reliable": 2.0,
    "own": {"mmlu": 20.0, "mmlu_pro": 15.0, "gsm": 50.0, "math": 60.0, "logic": 10.0, "tools": 10.0, "code": 10.0, "qa": 100.0, "common": 30.0},
    # A prompt unlike all families is predicted by its ease only: logits per standard deviation.
    "ease": 1.0, "sharpness": 12.0, "known": [-18.0, 20.0, 0.3],
    # Share of its own prompts that a family may classify as unlike it. Lowest for MMLU, the most diverse family.
    "low": {"mmlu": 0.05, "mmlu_pro": 0.15, "gsm": 0.15, "math": 0.15, "logic": 0.15, "tools": 0.15, "code": 0.15, "qa": 0.15, "common": 0.15},
    # How far the weight on the difference between strong and weak models follows the level of a model.
    "lean": 0.5,
    # The shipped prior is strict, because models with benchmark scores only depend on it. Models with outcomes do not need it.
    "prior": {"rounds": 16, "width": 0.1, "strength": 30.0}, "abilities": {"rounds": 8, "width": 0.5, "strength": 8.0},
}


class Lanes:
    """Weights of all lanes: joint lanes, lanes of single families, then family scores."""

    def __init__(self, names, settings):
        self.names, self.settings = names, settings
        self.joint, self.own = targets.lanes(names)
        self.heads = [f for _, _, f in self.own]

    def teach(self, rows, y, mask, family):
        """Returns target and weight of each row for each lane, and the penalty of each lane."""
        s, k = self.settings, len(self.names)
        t, count, apart = targets.per_source(rows, y, mask)
        pair = count == 2
        t, count = targets.share_groups(rows, t, count, family)
        reliable = count / (count + s["reliable"])
        size = np.bincount(family, weights=reliable, minlength=k)
        even = (1 / np.sqrt(np.maximum(size, 1)))[family]  # so that large families do not dominate the joint lanes
        target, weight, penalty = [], [], []
        for part, j, own in self.joint + self.own:
            target.append(t[:, j])
            weight.append(part[family] * (pair if j in targets.PAIR else reliable * (1.0 if own >= 0 else even)))
            penalty.append(s["own"][self.names[own]] if own >= 0 else s["joint"])
        for f in range(k):
            target.append(family == f)
            weight.append(np.ones(len(rows)))
            penalty.append(s["label"])
        weight = np.stack(weight, 1).astype(np.float32)
        self.apart = (weight * apart[:, None]).sum(0) / weight.sum(0)
        return np.stack(target, 1).astype(np.float32), weight, np.array(penalty) * weight.max(0) / weight.sum(0)

    def lean(self):
        """Returns how the weight of a model on the difference of strong and weak models follows its level (rows: abilities, columns:
        levels). A strong model uses the lane trained on strong models, a weak model the other one. A family with several such lanes
        divides the effect among them."""
        first = 1 + len(self.joint) + len(self.names)
        got = np.zeros((first + len(self.own),) * 2)
        strong = targets.strong_lanes(self.own)
        several = np.bincount([self.heads[i] for i in strong])
        for i in strong:
            level = 1 + len(self.joint) + self.heads[i]
            got[first + i + 1, [0, level]] = self.settings["lean"] / (self.apart[len(self.joint) + i] * several[self.heads[i]])
        return got

    def hashed(self):
        """Returns which lanes use hashed features. Joint lanes use counts only: words identify families, counts the difficulty."""
        return np.arange(len(self.joint) + len(self.own) + len(self.names)) >= len(self.joint)

    def learn(self, design, rows, y, mask, family, fold):
        """Trains the lanes. `inner` holds their values for each row from weights trained without the fold of the row."""
        self.design, self.family = design, family
        target, weight, penalty = self.teach(rows, y, mask, family)
        solve = lambda use: ridge(design, target, weight * use[:, None], penalty, self.hashed(), self.settings["rounds"])
        inner, inner8 = np.zeros(target.shape, np.float32), np.zeros(target.shape, np.float32)
        parts = []
        for f in range(self.settings["folds"]):
            part = w, v, c = solve(fold != f)
            inner[fold == f] = design.apply(w, v, c)[fold == f]
            parts.append(part)
        self.w, self.v, self.c = solve(np.ones(len(rows)))
        self.shift, self.scale = self.spread(inner)
        self.w, self.v, self.c = self.adjust(self.w), self.adjust(self.v), self.adjust(self.c, True)
        self.inner = self.adjust(inner, True)
        for f, (w, v, c) in enumerate(parts):
            table, scale = quantise(self.adjust(w))
            inner8[fold == f] = design.apply((table.astype(np.float32) - 128) * scale, self.adjust(v), self.adjust(c, True))[fold == f]
        self.inner8 = inner8
        label = self.split(self.inner)[2]
        # A low quantile of each family's scores on its own prompts: prompts that score less are unlike the family.
        self.typical = np.array([np.quantile(label[family == f, f], self.settings["low"][name]) for f, name in enumerate(self.names)])
        return self

    def spread(self, inner):
        """Returns mean and deviation of joint and family lanes over their training rows; family scores are not scaled."""
        shift, scale = np.zeros(inner.shape[1]), np.ones(inner.shape[1])
        for j, (part, _, own) in enumerate(self.joint + self.own):
            inside = self.family == own if own >= 0 else part[self.family] > 0
            shift[j], scale[j] = inner[inside, j].mean(), inner[inside, j].std() + 1e-6
        return shift, scale

    def adjust(self, a, shifted=False):
        """Standardises lanes and replaces strong and weak by their mean and their difference, in which models differ little.
        The joint lane is in logits."""
        a = ((a - self.shift) if shifted else a) / self.scale
        a[..., : len(self.joint)] *= self.settings["ease"]
        for s in targets.strong_lanes(self.joint + self.own):
            a[..., s], a[..., s + 1] = (a[..., s] + a[..., s + 1]) / 2, a[..., s] - a[..., s + 1]
        return a.astype(np.float32)

    def split(self, u):
        j, o = len(self.joint), len(self.own)
        label = u[:, j + o :]
        e = np.exp(self.settings["sharpness"] * (label - label.max(1, keepdims=True)))
        return u[:, :j], u[:, j : j + o], label, e / e.sum(1, keepdims=True)

    def known(self, u):
        """Returns the similarity to the training prompts. Values below a limit become 0, because their order is misleading."""
        k = self.settings["known"]
        label = self.split(u)[2]
        best = label.argmax(1)
        known = 1 / (1 + np.exp(-(k[0] + k[1] * label[np.arange(len(u)), best] / self.typical[best])))
        return np.where(known < k[2], 0, known)

    def skills(self, u):
        joint, own, _, share = self.split(u)
        known = self.known(u)[:, None]
        level = known * share + (1 - known) / len(self.names)
        return np.concatenate([(1 - known) * np.clip(joint, -CLIP, CLIP), level, known * share[:, self.heads] * np.clip(own, -CLIP, CLIP)], 1)


def probability(z, ability):
    return 1 / (1 + np.exp(-with_one(z) @ ability.T))
