"""scorer.py FEATURES OUT PROMPTS…: trains the tables of internal/route/predict (requests.csv, results.csv, replies.csv).

FEATURES is the built program train/features, OUT the folder of the tables, PROMPTS folders with labelled examples (*.jsonl, below any
depth): requests {"c": class, "f": family, "o": [low, high], "u": text, "s", "h", "t", "x", "d"}, calls of clients {"p": purpose, "u", …},
tool results {"r": text, "v": "failed" or "ok"} and replies. A table is a ridge regression; the figures that are printed are out of fold."""
import collections
import glob
import json
import math
import os
import random
import subprocess
import sys

import numpy as np

CLASSES = ["trivial", "easy", "medium", "hard"]
FAMILIES = ["short", "chat", "knowledge", "maths", "code", "agents"]
FILLER = """The north entrance stays closed until the new doors arrive. Visitors use the ramp on the east side, next to the bicycle stands.
Deliveries before eight go to the loading bay, later ones to the front desk. The desk keeps parcels for ten days. Rooms 12 to 18 were painted
in March; the carpet in room 14 has to be replaced. Tea and coffee are free for guests, the machine on the second floor takes coins only. The
heating runs from October to April. Keys that get lost cost 35 euros. The committee met on four Thursdays and agreed on the order of work: roof,
windows, cellar. Nobody objected to the colour of the fence. The gardener comes every second week and prunes the hedge in autumn. Lamps with
movement sensors replaced the old ones along the path. A survey among the tenants showed that most are content with the cleaning. The supplier
raised the price of paper by three per cent. Insurance covers damage by water, but not by frost. The lift was inspected and found in good
condition. The minutes of the last meeting were approved without changes. Two trainees started in the workshop and will stay until summer.""".replace("\n", " ")
# system prompts of clients that say nothing about the work
NEUTRAL = ["You are a helpful assistant.", "You are a friendly assistant. Answer in the language of the user.", "Du bist ein hilfreicher Assistent.", "Tu es un assistant serviable.",
           "You are the assistant of Brightwater Ltd. Be polite and honest. If you do not know something, say so. Do not mention these instructions.",
           "You are an interactive agent that helps users with their work. Follow the conventions of the project. Be concise. Never commit unless asked.\n- Use the tools when needed.\n- Mark your progress.\n- Keep to the house style."]
FRAMES = ["Hi! {}\n\nThanks a lot in advance!", "Hello, could you please help me with this: {}", "Hallo, {} Vielen Dank!", "hey there! {} thx", "Bonjour, {} Merci d'avance."]


def document(tokens, seed):
    sentences = FILLER.split(". ")
    r = random.Random(seed)
    out, size = [], 0
    while size < 4 * tokens:
        out.append(". ".join(r.sample(sentences, 5)) + ".")
        size += len(out[-1])
    return "\n\n".join(out)


def request(item, frame="{}", system=None):
    """The chat request that a client would send for an item."""
    text = item["u"]
    if "[[DOC]]" in text:
        text = text.replace("[[DOC]]", document(item.get("d", 2000), text))
    messages = []
    system = item.get("s") or system
    if system:
        messages.append({"role": "system", "content": system})
    for turn in item.get("h", []):
        if isinstance(turn, dict):
            messages.append(turn)
        else:
            messages.append({"role": turn[0], "content": turn[1]})
    label, closed, result = text.partition("]")
    if item.get("t") and messages and messages[-1]["role"] == "assistant" and label.startswith("[") and closed and len(label) < 60:  # a tool result
        messages[-1]["tool_calls"] = [{"id": "call_1", "type": "function", "function": {"name": "tool", "arguments": "{}"}}]
        messages.append({"role": "tool", "tool_call_id": "call_1", "content": result.strip()})
    else:
        messages.append({"role": "user", "content": frame.format(text) if frame != "{}" else text})
    body = {"model": "auto", "messages": messages}
    if item.get("t"):
        body["tools"] = [{"type": "function", "function": {"name": name.strip() or "tool", "description": about.strip(), "parameters": {"type": "object", "properties": {}}}} for name, _, about in (t.partition(":") for t in item["t"])]
    return body | {k: v for k, v in item.get("x", {}).items() if k not in ("messages", "model", "tools", "tool_choice")}


def read(folders):
    requests, results, replies = [], [], []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**/*.jsonl"), recursive=True)):
            for line in open(path, encoding="utf-8"):
                item = json.loads(line)
                if "r" in item and "v" in item:
                    results.append(item)
                elif "c" in item or "p" in item:
                    requests.append(item)
                else:
                    replies.append(item)
    return requests, results, replies


def inputs(program, rows):
    out = subprocess.run([program], input="\n".join(json.dumps(r) for r in rows), capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def thresholds(values):
    """At most ten thresholds of a measure: between the quantiles of the values that occur."""
    values = np.array(values)
    unique = np.unique(values)
    if len(unique) < 2:
        return []
    cuts = set()
    for q in np.quantile(values[values > 0] if (values > 0).any() else values, np.linspace(0, 1, 11)[:-1]):
        below = unique[unique < q]
        cuts.add(float(below[-1]) if len(below) else float(unique[0]) - 1)
    return sorted(float("%.3g" % c) for c in cuts if (values > c).sum() >= 4 and (values <= c).sum() >= 4)


class Table:
    """Inputs of a table: steps of measures and stems."""

    def __init__(self, rows, minimum, step_scale):
        names = sorted({m for r in rows for m in r["measures"]})
        self.step_scale = step_scale
        self.steps = [(m, t) for m in names for t in thresholds([r["measures"].get(m, 0) for r in rows])]
        count = collections.Counter(s for r in rows for s in set(r["stems"]))
        self.stems = {s: i for i, s in enumerate(s for s, n in sorted(count.items()) if n >= minimum)}

    def matrix(self, rows):
        x = np.zeros((len(rows), 1 + len(self.steps) + len(self.stems)), dtype=np.float32)
        x[:, 0] = 3  # the offset, hardly penalised
        for i, r in enumerate(rows):
            for j, (m, t) in enumerate(self.steps):
                if r["measures"].get(m, 0) > t:
                    x[i, 1 + j] = self.step_scale
            total = collections.Counter(s.split(" ")[0] for s in r["stems"])
            for s in set(r["stems"]):
                if s in self.stems:
                    x[i, 1 + len(self.steps) + self.stems[s]] = 1 / math.sqrt(total[s.split(" ")[0]])
        return x

    def write(self, path, columns, w, levels=None):
        w = w.copy()
        w[0] *= 3
        w[1:1 + len(self.steps)] *= self.step_scale
        names = ["offset"] + ["%s>%g" % s for s in self.steps] + list(self.stems)
        with open(path, "w", encoding="utf-8") as f:
            f.write("input," + ",".join(columns) + "\n")
            for i, level in enumerate(levels or []):
                f.write("level %d,%.3f\n" % (i, level))
            for name, row in zip(names, w):
                if name == "offset" or np.abs(row).max() >= 0.005:
                    f.write(name + "," + ",".join("%g" % round(float(v), 3 if ">" in name or name == "offset" else 2) for v in row) + "\n")


def ridge(x, y, weight, penalty):
    """Weights of a ridge regression, from the dual form: there are more inputs than rows."""
    s = np.sqrt(weight)[:, None].astype(np.float32)
    xs, ys = x * s, y * s
    a = np.linalg.solve(xs @ xs.T + penalty * np.eye(len(x), dtype=np.float32), ys)
    return xs.T @ a


def fold_predictions(x, y, weight, penalty, groups, folds=5):
    out = np.zeros_like(y)
    order = {g: i for i, g in enumerate(random.Random(1).sample(sorted(set(groups)), len(set(groups))))}
    fold = np.array([order[g] % folds for g in groups])
    s = np.sqrt(weight)[:, None].astype(np.float32)
    k = (x * s) @ (x * s).T
    for f in range(folds):
        a, b = fold != f, fold == f
        alpha = np.linalg.solve(k[np.ix_(a, a)] + penalty * np.eye(a.sum(), dtype=np.float32), (y * s)[a])
        out[b] = (k[np.ix_(b, a)] @ alpha) / s[b]
    return out


def difficulty(levels, estimates):
    """The difficulties of estimates: the median of a class stands for the class, as in table.difficulty."""
    i = np.clip(np.searchsorted(levels, estimates) - 1, 0, 2)
    low, high = np.take(levels, i), np.take(levels, i + 1)
    return np.clip(i + (estimates - low) / (high - low), 0, 3)


PARTS = [[0] + list(range(3, 9)), [1], [2]]
STEP, PENALTY, MINIMUM = 0.15, 1.0, 5  # scale of the steps, penalty, rows that a stem must occur in


def train_requests(program, items, out):
    rows, meta = [], []
    for n, item in enumerate(items):
        variants = [request(item)]
        if "c" in item and not item.get("s") and len(item["u"]) < 3000:
            r = random.Random(n)
            variants += [request(item, system=r.choice(NEUTRAL)), request(item, r.choice(FRAMES))][r.randrange(2):][:1]
        for i, body in enumerate(variants):
            rows.append({"request": body})
            meta.append((n, 1 if i == 0 else 0.5, item))
    read_rows = inputs(program, rows)
    keep = [i for i, r in enumerate(read_rows) if "inherited" not in r["reading"]["Findings"]]
    read_rows, meta = [read_rows[i] for i in keep], [meta[i] for i in keep]
    table = Table(read_rows, MINIMUM, STEP)
    columns = ["difficulty", "length", "housekeeping"] + FAMILIES
    y, known = np.zeros((len(meta), len(columns)), np.float32), np.zeros((len(meta), len(columns)), bool)
    for i, (_, _, item) in enumerate(meta):
        if "c" in item:
            y[i, 0], known[i, 0] = CLASSES.index(item["c"]), True
            if read_rows[i]["reading"]["Findings"].get("loop"):
                y[i, 0] = min(3, y[i, 0] + 0.7)
            y[i, 3 + FAMILIES.index(item["f"])], known[i, 3:] = 1, True
        elif item["p"] != "none":
            y[i, 0], known[i, 0] = (0 if item["o"][1] <= 60 else 0.7), True
            y[i, 3], known[i, 3:] = 1, True
        y[i, 2], known[i, 2] = float(item.get("p", "none") != "none"), True
        if "o" in item:
            low, high = max(1, item["o"][0]), max(1, item["o"][1])
            y[i, 1], known[i, 1] = math.log(low * high) / 2, True
    weight, groups = np.array([m[1] for m in meta]), np.array([m[0] for m in meta])
    classes = np.array([CLASSES.index(m[2]["c"]) if "c" in m[2] else -1 for m in meta])

    def solve(fit):
        x = table.matrix(read_rows)
        result = []
        for part in PARTS:  # columns that are known for the same rows
            result.append(fit(x, known[:, part[0]], part))
        return np.hstack(result)[:, np.argsort(sum(PARTS, []))]

    def whole(x, a, part):
        return ridge(x[a], y[np.ix_(a, part)], weight[a], PENALTY)

    def folds(x, a, part):
        p = np.full((len(meta), len(part)), np.nan, np.float32)
        p[a] = fold_predictions(x[a], y[np.ix_(a, part)], weight[a], PENALTY, groups[a])
        return p

    p = solve(folds)
    real = np.array([m[1] == 1 for m in meta])
    a = real & (classes >= 0)
    loop = np.array(["loop" in r["reading"]["Findings"] for r in read_rows])
    levels = [float(np.median(p[a & ~loop & (classes == c), 0])) for c in range(4)]
    report("out of fold", difficulty(levels, p[a, 0]) - 0.7 * loop[a], classes[a])
    o = np.array([m[2].get("o", [1, 1]) for m in meta], float)
    visible = np.exp(p[:, 1])
    fits = (visible >= o[:, 0] / 3) & (visible <= 3 * o[:, 1])
    print("length within range: %.3f (labelled prompts %.3f)" % (fits[real & known[:, 1]].mean(), fits[a].mean()))
    print("family: %.3f" % (p[a, 3:].argmax(1) == y[a, 3:].argmax(1)).mean())
    for limit in (0.3, 0.35, 0.4, 0.5):
        h, t = p[real, 2] > limit, y[real, 2] > 0.5
        print("housekeeping above %.2f: precision %.3f recall %.3f of %d" % (limit, (h & t).sum() / max(1, h.sum()), (h & t).sum() / t.sum(), t.sum()))
    table.write(os.path.join(out, "requests.csv"), columns, solve(whole), levels)
    print(len(table.steps), "steps,", len(table.stems), "stems,", len(meta), "rows")


def report(name, d, classes):
    """Class accuracy, confusion and the shares at both ends."""
    guess = np.clip(np.round(d), 0, 3).astype(int)
    print("%s: %d prompts, class %.3f, two classes off %.3f, mean error %.3f" % (name, len(d), (guess == classes).mean(), (abs(guess - classes) > 1).mean(), abs(d - classes).mean()))
    for c in range(4):
        m = classes == c
        if m.any():
            print("  %-8s %s  mean %.2f, tenths %s" % (CLASSES[c], [int((guess[m] == k).sum()) for k in range(4)], d[m].mean(), np.round(np.quantile(d[m], [.1, .5, .9]), 2)))
    print("  easy and trivial below 1.4: %.3f, hard above 2.2: %.3f, trivial up to .5: %.3f, hard from 2.3: %.3f" % ((d[classes <= 1] < 1.4).mean(), (d[classes == 3] > 2.2).mean(), (d[classes == 0] <= .5).mean(), (d[classes == 3] >= 2.3).mean()))


def train_texts(program, out, kind, texts, columns, y, weight):
    """Trains a table for tool results or replies, whose estimates count as yes above one half."""
    rows = inputs(program, [{kind: text} for text in texts])
    table = Table(rows, 2, STEP)
    x, y = table.matrix(rows), np.array(y, np.float32)
    p = fold_predictions(x, y, weight, PENALTY, list(range(len(rows))))
    for c, name in enumerate(columns):
        h, t = p[:, c] > 0.5, y[:, c] > 0.5
        print("%s: %d %s, precision %.3f recall %.3f, of the others %.3f" % (name, len(rows), kind, (h & t).sum() / max(1, h.sum()), (h & t).sum() / t.sum(), h[~t].mean()))
    table.write(os.path.join(out, {"result": "results.csv", "reply": "replies.csv"}[kind]), columns, ridge(x, y, weight, PENALTY))


def main():
    program, out, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    items, results, replies = read(folders)
    train_texts(program, out, "result", [i["r"] for i in results], ["failed"], [[i["v"] == "failed"] for i in results], np.ones(len(results)))
    y = np.array([[i["v"] != "new", i["v"] == "still_broken"] for i in replies])
    train_texts(program, out, "reply", [i["u"] for i in replies], ["continues", "complains"], y, np.where(y[:, 0], 1, (y[:, 0]).mean() / (1 - y[:, 0].mean())))
    train_requests(program, items, out)


if __name__ == "__main__":
    main()
