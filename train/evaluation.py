"""Honest figures: every prediction is for a prompt whose group was not trained on."""
import copy

import numpy as np

import data
import protocol
from ability import from_means, newton, sigmoid, with_one
from router import Router, chance


class Set:
    """The trained rows as arrays, with their places in the design."""

    def __init__(self, rows, places):
        self.rows, self.places = rows, places
        self.y, self.mask, self.models = data.outcomes(rows)
        self.family = np.array([data.FAMILIES.index(r["family"]) for r in rows])
        self.group = np.array([r["group"] for r in rows])
        self.index = {m: j for j, m in enumerate(self.models)}

    def router(self, design, use, settings, fold, names=data.FAMILIES):
        family = np.array([names.index(data.FAMILIES[f]) if data.FAMILIES[f] in names else -1 for f in self.family])
        rows = [r for r, u in zip(self.rows, use) if u]
        r = Router(design, self.places[use], family[use], rows, self.y[use], self.mask[use], names, settings, fold[use])
        return r.learn_abilities(self.y[use], self.mask[use])


def cross_validate(design, s, settings, seed, count=5):
    """Predictions out of fold, and the routers with what they were not trained on."""
    fold, inner = data.folds(s.rows, count, seed), data.folds(s.rows, settings["inner"], seed + 1)
    out, parts = np.zeros(s.y.shape), []
    for f in range(count):
        r = s.router(design, fold != f, settings, inner)
        z = r.skills(r.lanes(s.places[fold == f]))
        out[fold == f] = chance(z, r.prior.a)
        parts.append((r, fold == f, z))
    return out, parts


def figures(table, pairs):
    got = {k: round(v, 4) for k, v in table.pairs(pairs).items()}
    got["pooled"] = round(table.pooled(pairs), 4)
    return got


def calibration(s, out, bins=10):
    """Predicted against observed in bins of the prediction, the mean distance, and the log loss, for all and by family."""
    def table(rows):
        seen = s.mask[rows] > 0
        p, y = out[rows][seen], s.y[rows][seen]
        at = np.minimum((p * bins).astype(int), bins - 1)
        lines = [(round(float(p[at == b].mean()), 3), round(float(y[at == b].mean()), 3), int((at == b).sum())) for b in range(bins) if (at == b).any()]
        ece = sum(abs(a - b) * n for a, b, n in lines) / len(p)
        q = np.clip(p, 1e-4, 1 - 1e-4)
        return {"bins": lines, "ece": round(ece, 4), "log_loss": round(float(-(y * np.log(q) + (1 - y) * np.log(1 - q)).mean()), 4)}
    got = {"all": table(np.ones(len(s.rows), bool))}
    for f, name in enumerate(data.FAMILIES):
        got[name] = {k: v for k, v in table(s.family == f).items() if k != "bins"}
    return got


def leave_family_out(design, s, settings, seed):
    """For each family: predictions by a router that never saw it, on its pairs and on many pairs of models."""
    got, inner = {}, data.folds(s.rows, settings["inner"], seed + 1)
    for f, name in enumerate(data.FAMILIES):
        held = s.family == f
        use = ~held & ~np.isin(s.group, s.group[held])
        r = s.router(design, use, settings, inner, [n for n in data.FAMILIES if n != name])
        u = r.lanes(s.places[held])
        out = np.zeros(s.y.shape)
        out[held] = chance(r.skills(u), r.prior.a)
        table = protocol.Table(s.rows, s.y, s.mask, s.models, out)
        table.clean &= held
        sources = sorted({row["source"] for row, h in zip(s.rows, held) if h})
        many = [table.many(source) for source in sources]
        got[name] = {"pairs": {k: round(v, 4) for k, v in table.pairs(protocol.PAIRS).items()}, "many": round(float(np.nanmean(many)), 4), "known": round(float(r.known(u).mean()), 3)}
    return got


def judge(router, s, rows, places):
    """Sources never trained on."""
    y, mask = np.zeros((len(rows), len(s.models)), np.float32), np.zeros((len(rows), len(s.models)), np.float32)
    for i, row in enumerate(rows):
        for m, v in row["scores"].items():
            if m in s.index:
                y[i, s.index[m]], mask[i, s.index[m]] = v, 1
    u = router.lanes(places)
    out = chance(router.skills(u), router.prior.a)
    table = protocol.Table(rows, y, mask, s.models, out)
    got = {k: round(v, 4) for k, v in table.pairs(protocol.JUDGED_PAIRS).items()}
    known = router.known(u)
    source = np.array([r["source"] for r in rows])
    return got, {k: round(float(known[source == k].mean()), 3) for k in np.unique(source)}, out


def benchmark(row):
    return row["task"] if row["source"] == "llmrouter_ulab" else row["source"]


def cold_start(s, parts, labels=100, seed=0):
    """APGR of pairs when both abilities come from benchmark means alone, and with some outcomes of the source besides."""
    rng = np.random.default_rng(seed)
    keys = np.array([benchmark(r) for r in s.rows])
    source = np.array([r["source"] for r in s.rows])
    cold, warm = np.full(s.y.shape, np.nan), np.full(s.y.shape, np.nan)
    for place, strong, weak in protocol.PAIRS:
        for r, held, z in parts:
            here = np.zeros(len(s.rows), bool)
            here[np.flatnonzero(held)] = True
            here &= source == place
            zz = with_one(z[source[held] == place])
            others = np.ones(len(s.models), bool)
            others[[s.index[strong], s.index[weak]]] = False
            mean, cov = r.prior.moments(others)
            inner = with_one(r.skills(r.inner))
            train = np.flatnonzero(~held)
            for m in (strong, weak):
                j = s.index[m]
                targets = means_of(s, keys, train, inner, j, rng)
                a, c = from_means(mean, cov, targets)
                cold[here, j] = sigmoid(zz @ a)
                local = np.flatnonzero((s.mask[train, j] > 0) & (source[train] == place))
                pick = rng.choice(local, min(labels, len(local)), replace=False)
                b, _ = newton(inner[pick], s.y[train[pick], j], np.ones(len(pick)), a, np.linalg.inv(c), a)
                warm[here, j] = sigmoid(zz @ b)
        yield place, strong, weak, cold, warm


def means_of(s, keys, train, inner, j, rng, noise=0.12):
    """The benchmark means of a model as targets: skills of sampled prompts, weights, mean, noise of its logit."""
    got = []
    for key in np.unique(keys[train]):
        at = np.flatnonzero((keys[train] == key) & (s.mask[train, j] > 0))
        if len(at) >= 30:
            pick = rng.choice(at, min(64, len(at)), replace=False)
            got.append((inner[pick], np.full(len(pick), 1 / len(pick)), float(s.y[train[at], j].mean()), noise))
    return got


def cold_figures(s, parts, trained):
    got = {}
    for place, strong, weak, cold, warm in cold_start(s, parts):
        row = [protocol.Table(s.rows, s.y, s.mask, s.models, c).pairs([(place, strong, weak)]) for c in (trained, cold, warm)]
        name = f"{place}:{strong}/{weak}"
        if all(name in r for r in row):
            got[name] = dict(zip(("trained", "cold", "cold_100_labels"), (round(r[name], 4) for r in row)))
    mean = {k: round(float(np.mean([v[k] for v in got.values()])), 4) for k in ("trained", "cold", "cold_100_labels")} if got else {}
    return {"pairs": got, "mean": mean}


def copy_settings(settings, **changes):
    s = copy.deepcopy(settings)
    s.update(changes)
    return s
