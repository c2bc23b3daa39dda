"""Computes figures out of fold: every prediction is for a prompt whose group was not trained on."""
import numpy as np

import data
import protocol
from ability import Prior, corrected, from_means, noise_of, sigmoid, with_one
from ridge import ridge
from router import probability


class Set:
    """Training rows as arrays."""

    def __init__(self, rows):
        self.rows = rows
        self.y, self.mask, self.models = data.outcomes(rows)
        self.family = np.array([data.FAMILIES.index(r["family"]) for r in rows])
        self.group = np.array([r["group"] for r in rows])
        self.source = np.array([r["source"] for r in rows])
        self.index = {m: j for j, m in enumerate(self.models)}

    def records(self):
        """Returns the number of outcomes of each model by family."""
        return np.stack([self.mask[self.family == f].sum(0) for f in range(len(data.FAMILIES))], 1)

    def table(self, out):
        return protocol.Table(self.rows, self.y, self.mask, self.models, out)


def cross_validate(s, z, fold, settings, lean, z8):
    """Returns predictions out of fold, predictions for z8 (the same skills from one-byte weights), and the priors. z are skills from
    lanes that were not trained on the fold of the row; neither were the abilities."""
    out, out8, priors = np.zeros(s.y.shape), np.zeros(s.y.shape), []
    for f in range(settings["folds"]):
        held = fold == f
        seen = z[~held], s.y[~held], s.mask[~held]
        able = Prior(*seen, **settings["abilities"]).a
        out[held], out8[held] = probability(z[held], able), probability(z8[held], able)
        priors.append((Prior(*seen, lean, **settings["prior"]), held))
    return out, out8, priors


def figures(table, pairs):
    return {k: round(v, 4) for k, v in table.pairs(pairs).items()}


def calibration(s, out, bins=10):
    """Returns predicted and observed values in bins of the prediction, their mean difference, and the log loss, in total and by family."""
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


def leave_family_out(design, s, lanes):
    """Evaluates for each family a predictor trained without it, on its pairs and on many pairs of models.

    The joint lanes and the family scores are trained again without the family. The lanes of other families do not depend on it,
    except those of related families, which are set to zero."""
    got, settings, j, o = {}, lanes.settings, len(lanes.joint), len(lanes.own)
    target, weight, penalty = lanes.teach(s.rows, s.y, s.mask, s.family)
    shared = list(range(j)) + list(range(j + o, target.shape[1]))
    for f, name in enumerate(data.FAMILIES):
        held = s.family == f
        use = ~held & ~np.isin(s.group, s.group[held])
        w, v, c = ridge(design, target[:, shared], weight[:, shared] * use[:, None], penalty[shared], lanes.hashed()[shared], settings["rounds"])
        u, inner = design.apply(lanes.w, lanes.v, lanes.c), lanes.inner.copy()
        retrained = np.zeros_like(u)
        retrained[:, shared] = design.apply(w, v, c)
        u[:, shared] = lanes.adjust(retrained, True)[:, shared]
        for values in (u, inner):
            values[:, j + o + f] = -9  # the excluded family gets no score
            for i, (part, _, own) in enumerate(lanes.own):
                if own != f and part[f] > 0:
                    values[:, j + i] = 0
        prior = Prior(lanes.skills(inner[use]), s.y[use], s.mask[use], **settings["abilities"])
        out = np.zeros(s.y.shape)
        out[held] = probability(lanes.skills(u[held]), prior.a)
        table = s.table(out)
        table.clean &= held
        many = [table.many(source) for source in np.unique(s.source[held])]
        got[name] = {
            "pairs": {k: round(v, 4) for k, v in table.pairs(protocol.PAIRS).items()}, "many": round(float(np.nanmean(many)), 4),
            "known": round(float(lanes.known(u[held]).mean()), 3),
        }
    return got


def judge(s, rows, z, known, abilities):
    """Evaluates sources without training data."""
    y, mask = np.zeros((len(rows), len(s.models)), np.float32), np.zeros((len(rows), len(s.models)), np.float32)
    for i, row in enumerate(rows):
        for m, v in row["scores"].items():
            if m in s.index:
                y[i, s.index[m]], mask[i, s.index[m]] = v, 1
    table = protocol.Table(rows, y, mask, s.models, probability(z, abilities))
    got = {k: round(v, 4) for k, v in table.pairs(protocol.JUDGED_PAIRS).items()}
    source = np.array([r["source"] for r in rows])
    return got, {k: round(float(known[source == k].mean()), 3) for k in np.unique(source)}, table


def benchmark(row):
    """Returns the name of the benchmark of a row: its source, with the subject or kind where leaderboards publish those."""
    if row["source"] == "llmrouter_ulab":
        return row["task"]
    return row["source"] + "/" + row["task"] if row["source"] in ("mmlu_pro", "bfcl") else row["source"]


def cold_start(s, z, priors, labels=100, draws=5, seed=0):
    """Yields predictions for pairs whose abilities come from benchmark means only, and predictions corrected by some outcomes of the source
    as in the Go code, for several draws.

    A draw is the same for all folds: a workspace has one correction per model, and levels that differ by fold would shuffle the ranking.
    Drawn prompts and their groups are excluded: their predictions are NaN."""
    rng = np.random.default_rng(seed)
    keys = np.array([benchmark(r) for r in s.rows])
    cold, warm = np.full(s.y.shape, np.nan), np.full((draws, *s.y.shape), np.nan)
    one = with_one(z)
    for place, *pair in protocol.PAIRS:
        if not all(m in s.index for m in pair):
            continue
        js = [s.index[m] for m in pair]
        local = np.flatnonzero((s.source == place) & (s.mask[:, js] > 0).all(1))
        picks = [rng.choice(local, min(labels, len(local) // 2), replace=False) for _ in range(draws)]
        others = np.ones(len(s.models), bool)
        others[js] = False
        for prior, held in priors:
            here, train = held & (s.source == place), np.flatnonzero(~held)
            mean, cov = prior.moments(others)
            for j in js:
                a, c = from_means(mean, cov, means_of(s, keys, train, one, j, one @ mean))
                cold[here, j] = sigmoid(one[here] @ a)
                for d, pick in enumerate(picks):
                    warm[d, here, j] = sigmoid(one[here] @ corrected(a, c, one[pick], s.y[pick, j]))
        for d, pick in enumerate(picks):
            warm[d][np.ix_(np.isin(s.group, s.group[pick]), js)] = np.nan
        yield (place, *pair), cold, warm


def slices(at, level, count):
    """Returns `count` rows, one from each slice from hard to easy."""
    at, count = at[np.argsort(level[at], kind="stable")], min(count, len(at))
    return at[((np.arange(count) + 0.5) * len(at) / count).astype(int)]


def means_of(s, keys, train, one, j, level, count=48):
    """Returns the benchmark means of a model as targets: skills of typical prompts, weights, mean, noise of its logit."""
    got = []
    for key in np.unique(keys[train]):
        at = train[(keys[train] == key) & (s.mask[train, j] > 0)]
        if len(at) >= 30:
            pick, mean = slices(at, level, count), float(s.y[at, j].mean())
            got.append((one[pick], np.full(len(pick), 1 / len(pick)), mean, noise_of(mean)))
    return got


def cold_figures(s, z, priors, trained):
    """Returns for each pair the figures of COLD, and their means."""
    got = {}
    for pair, cold, warm in cold_start(s, z, priors):
        js = [s.index[m] for m in pair[1:]]
        rest = [np.where(np.isnan(w), np.nan, cold) for w in warm]
        row = [[recovered(s, c, pair, js) for c in some] for some in ([trained], [cold], warm, rest)]
        if all(v is not None for some in row for v in some):
            got[f"{pair[0]}:{pair[1]}/{pair[2]}"] = {k: round(float(np.mean(v)), 4) for k, v in zip(COLD, row)}
    mean = {k: round(float(np.mean([v[k] for v in got.values()])), 4) for k in COLD} if got else {}
    return {"pairs": got, "mean": mean}


# Names of the four figures: trained abilities; abilities from benchmark means only; these abilities corrected by 100 labels; and, for
# comparison, the second figure computed only on the prompts of the third.
COLD = "trained", "cold", "cold_100_labels", "cold_same_prompts"


def recovered(s, probabilities, pair, js):
    """Returns the APGR of a pair over the prompts with predictions, or None if there are too few."""
    table = s.table(probabilities)
    table.clean &= ~np.isnan(probabilities[:, js]).any(1)
    return next(iter(table.pairs([pair]).values()), None)
