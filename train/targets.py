"""Training targets of the lanes: for each prompt, how much better than average strong and weak models do on its source, and the
main directions in which the models of a source differ."""
import numpy as np

# Lanes of single families: s and w are the means of the stronger and the weaker half of the models, digits are further
# directions of difference between models, capitals are s and w trained on related families as well. x and y are s and w of sources
# with a single pair of models, whose difference would be lost in the mean over dozens of models.
OWN = {
    "mmlu": "SW", "mmlu_pro": "sw23", "gsm": "sw2SWxy", "math": "sw2", "logic": "sw2", "tools": "sw23", "code": "sw", "qa": "sw", "common": "sw",
}
KINDRED = {"gsm": {"math": 0.5, "mmlu_pro": 0.1}, "mmlu": {"mmlu_pro": 0.1}}
TARGET = {"s": 0, "w": 1, "2": 2, "3": 3, "S": 0, "W": 1, "x": 5, "y": 6}
EASE, PAIR = 4, (5, 6)  # the mean of s and w; s and w of the source only


def per_source(rows, y, mask):
    """Returns targets s, w, 2, 3 for each row relative to its source and task, the number of outcomes behind them, and the distance in
    logits between the stronger and the weaker models."""
    n = len(rows)
    out, count, apart = np.zeros((n, 4), np.float32), np.zeros(n, np.float32), np.zeros(n)
    keys = np.array([r["source"] + ("/" + r["task"] if r["source"] == "llmrouter_ulab" else "") for r in rows])
    for key in np.unique(keys):
        at = np.flatnonzero(keys == key)
        cols = np.flatnonzero(mask[at].mean(0) > 0.5)
        yy, mm = y[np.ix_(at, cols)], mask[np.ix_(at, cols)]
        col = (yy * mm).sum(0) / mm.sum(0)
        away = (yy - col) * mm
        order = np.argsort(-col, kind="stable")
        half = len(order) // 2
        strong, weak = order[:half], order[half:]
        logit = np.log(np.clip(col, 0.02, 0.98) / (1 - np.clip(col, 0.02, 0.98)))
        apart[at] = logit[strong].mean() - logit[weak].mean()
        for j, part in enumerate((strong, weak)):
            out[at, j] = away[:, part].sum(1) / np.maximum(mm[:, part].sum(1), 1)
        rest = away.copy()
        for part, j in ((strong, 0), (weak, 1)):
            rest[:, part] -= out[at, j][:, None] * mm[:, part]
        if len(cols) >= 8:
            u, sv, _ = np.linalg.svd(rest, full_matrices=False)
            out[at, 2:] = u[:, :2] * sv[:2] / np.sqrt(len(cols))
        count[at] = len(cols)
    return out, count, apart


def share_groups(rows, target, count, family):
    """Averages s and w over the rows of a family with the same question, weighted by their outcomes. Appends their mean, and the values
    before averaging."""
    out, total = target.copy(), count.copy()
    keys = {}
    for i, r in enumerate(rows):
        keys.setdefault((family[i], r["group"]), []).append(i)
    for at in keys.values():
        if len(at) > 1:
            c = count[at]
            out[at, :2] = (target[at, :2] * c[:, None]).sum(0) / c.sum()
            total[at] = c.sum()
    return np.concatenate([out, out[:, :2].mean(1, keepdims=True), target[:, :2]], 1), total


def lanes(names):
    """Returns the lanes as (weight of each family in training, target, own family or -1), the joint lane first."""
    joint = [(np.ones(len(names)), EASE, -1)]
    own = []
    for f, name in enumerate(names):
        for k in OWN[name]:
            part = np.eye(len(names))[f]
            for other, weight in KINDRED.get(name, {}).items() if k.isupper() else ():
                if other in names:
                    part[names.index(other)] = weight
            own.append((part, TARGET[k], f))
    return joint, own


def strong_lanes(lanes):
    """Returns the lanes of strong models; each is followed by the lane of weak models for the same prompts."""
    return [i for i, lane in enumerate(lanes) if lane[1] in (0, PAIR[0])]
