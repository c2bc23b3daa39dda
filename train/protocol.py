"""Metrics of a router: recovered quality gap (APGR) for pairs of models, quality over cost (AIQ)."""
import numpy as np

G4, MX, L8 = "gpt-4-1106-preview", "mixtral-8x7b-instruct-v0.1", "llama-3.1-8b-instruct"
O4 = "gpt-4o-2024-05-13"
PAIRS = [
    ("routellm_mmlu", G4, MX), ("routellm_gsm8k", G4, MX), ("mmlu_pro", O4, MX), ("mmlu_pro", O4, L8),
    ("zeroeval_mmlu_redux", O4, L8), ("zeroeval_gsm", O4, "llama-3-8b-instruct"), ("zeroeval_math_l5", O4, L8),
    ("zeroeval_zebra_grid", "claude-3-5-sonnet-20240620", "gpt-4o-mini-2024-07-18"), ("bfcl", G4, MX),
    ("bfcl", "gpt-4-0125-preview", "claude-3-haiku-20240307"),
]
JUDGED_PAIRS = [(s, G4, MX) for s in ("routerbench_arc", "routerbench_mbpp", "routerbench_winogrande", "gemini_svamp", "gemini_flores", "alpaca_eval")]
NOT_POOLED = {"alpaca_eval", "gemini_flores"}  # scores there are preferences or chrF, not correctness


def apgr(score, strong, weak, bins=10, seed=0):
    """Returns the area under the recovered gap when the prompts with the highest score go to the strong model; random is 0.5."""
    score = np.asarray(score, float) + 1e-9 * np.random.RandomState(seed).rand(len(score))
    strong, weak = np.asarray(strong, float), np.asarray(weak, float)
    s, w = strong.mean(), weak.mean()
    if abs(s - w) < 1e-9:
        return float("nan")
    share, quality = [], []
    for q in np.linspace(0, 1, bins + 1):
        to = score >= np.quantile(score, q) if q < 1 else np.zeros(len(score), bool)
        share.append(to.mean())
        quality.append(np.where(to, strong, weak).mean())
    order = np.argsort(share, kind="stable")
    share, quality = np.array(share)[order], np.array(quality)[order]
    area = lambda v: float(((v[1:] + v[:-1]) / 2 * np.diff(share)).sum())
    return area(quality - w) / area(np.full(len(share), s - w))


class Table:
    """Scores and predictions, rows by models."""

    def __init__(self, rows, y, mask, models, probability):
        self.source = np.array([r["source"] for r in rows])
        self.clean = np.array([not r.get("contaminated") for r in rows])
        self.y, self.mask, self.probability = y, mask, probability
        self.index = {m: j for j, m in enumerate(models)}

    def pick(self, source, strong, weak):
        if strong not in self.index or weak not in self.index:
            return None
        s, w = self.index[strong], self.index[weak]
        at = np.flatnonzero((self.source == source) & self.clean & (self.mask[:, s] > 0) & (self.mask[:, w] > 0))
        if len(at) < 40:
            return None
        return at, self.probability[at, s] - self.probability[at, w], self.y[at, s], self.y[at, w]

    def pairs(self, pairs):
        out = {}
        for source, strong, weak in pairs:
            got = self.pick(source, strong, weak)
            if got is not None:
                out[f"{source}:{strong}/{weak}"] = apgr(*got[1:])
        return out

    def first_pair(self, pairs):
        """Returns score, strong and weak outcomes of each source with the first pair: the input of pooled."""
        got = [self.pick(source, strong, weak) for source, strong, weak in pairs if strong == G4 and source not in NOT_POOLED]
        return [np.array(g[1:]) for g in got if g is not None]

    def many(self, source, limit=40, seed=0):
        """Returns the mean APGR over many pairs of a source with a gap of at least 8 points, which varies less than a single pair."""
        at = np.flatnonzero((self.source == source) & self.clean)
        cols = np.flatnonzero(self.mask[at].mean(0) > 0.9)
        mean = self.y[at][:, cols].mean(0)
        pairs = [(a, b) for i, a in enumerate(cols) for j, b in enumerate(cols) if mean[i] - mean[j] > 0.08 and mean[i] > 0.3]
        rng = np.random.RandomState(seed)
        rng.shuffle(pairs)
        got = []
        for a, b in pairs[:limit]:
            ok = at[(self.mask[at, a] > 0) & (self.mask[at, b] > 0)]
            got.append(apgr(self.probability[ok, a] - self.probability[ok, b], self.y[ok, a], self.y[ok, b]))
        return float(np.mean(got)) if got else float("nan")


def pooled(parts, most=300, draws=60):
    """Returns mean and standard deviation of the APGR of random mixtures with at most `most` prompts of every part."""
    got = []
    for seed in range(draws if parts else 0):
        rng = np.random.RandomState(seed)
        got.append(apgr(*np.concatenate([p[:, rng.permutation(p.shape[1])[:most]] for p in parts], 1)))
    return {"sources": len(parts), "mean": round(float(np.mean(got)), 4), "deviation": round(float(np.std(got)), 4)} if got else {}


def hull(points):
    """Returns the non-decreasing upper convex hull of (cost, quality) points."""
    h = []
    for p in sorted({(float(c), float(q)) for c, q in points}):
        if h and p[1] <= h[-1][1]:
            continue
        while len(h) >= 2 and (h[-1][1] - h[-2][1]) * (p[0] - h[-2][0]) <= (p[1] - h[-2][1]) * (h[-1][0] - h[-2][0]):
            h.pop()
        h.append(p)
    return np.array(h)


def aiq(points, lo, hi):
    h = hull(points)
    x = np.linspace(lo, hi, 2001)
    return float(np.interp(x, h[:, 0], h[:, 1], left=h[0, 1], right=h[-1, 1]).mean())


def cost_quality(quality, cost, guess):
    """Returns the AIQ of choosing by lambda * guess - mean cost, and of the hull of single models."""
    lams = np.concatenate([[0], np.logspace(-6, 4, 300)])
    i = np.arange(len(quality))
    mean = cost.mean(0)
    picks = [(cost[i, k].mean(), quality[i, k].mean()) for k in (np.argmax(l * guess - mean, 1) for l in lams)]
    single = [(cost[:, k].mean(), quality[:, k].mean()) for k in range(quality.shape[1])]
    lo, hi = min(c for c, _ in single), max(c for c, _ in single)
    return aiq(picks, lo, hi), aiq(single, lo, hi)
