"""scorer.py FEATURES TABLES PROMPTS…: trains the tables of internal/route/predict (requests.csv, results.csv, replies.csv).

FEATURES is the built program train/features, TABLES the folder of the tables, PROMPTS folders with labelled examples (*.jsonl, below any
depth): requests {"c": class, "f": family, "o": [low, high], "u": text, "s", "h", "t", "x", "d"}, calls of clients {"p": purpose, "u", …},
tool results {"r": text, "v": "failed" or "ok"}, replies, and benchmark tasks {"source", "prompt", "group", "scores"} (see BENCHMARKS).

A table is a ridge regression whose weights are drawn towards those of the present table, not towards zero, so that new examples add to what
earlier ones taught. The figures that are printed are out of fold."""
import collections
import glob
import json
import math
import os
import random
import subprocess
import sys

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

CLASSES = ["trivial", "easy", "medium", "hard"]
FAMILIES = ["short", "chat", "knowledge", "maths", "code", "agents"]
# family of benchmark tasks, by source and task
BENCHMARKS = {
    "routellm_mmlu": "knowledge", "zeroeval_mmlu_redux": "knowledge", "mmlu_pro": "knowledge", "routellm_gsm8k": "maths", "zeroeval_gsm": "maths", "zeroeval_math_l5": "maths",
    "zeroeval_zebra_grid": "maths", "bfcl": "agents", "agentverse-logicgrid": "maths", "agentverse-mgsm": "maths", "natural_qa": "knowledge", "trivia_qa": "knowledge", "mmlu": "knowledge",
    "arc_challenge": "knowledge", "openbook_qa": "knowledge", "gpqa": "knowledge", "mbpp": "code", "human_eval": "code", "gsm8k": "maths", "commonsense_qa": "knowledge", "math": "maths",
}
PER_BENCHMARK = 70  # tasks of a benchmark; more would outweigh what people ask for
HELD_OUT = 5  # every fifth group of the benchmarks is only judged
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
           "You are an interactive agent that helps users with their work. Follow the conventions of the project. Be concise. Never commit unless asked.\n- Use the tools when needed.\n- Mark your progress.\n- Keep to the house style.",
           "You are a coding agent. You work in the user's repository.", "You are an AI programming assistant inside an editor. Follow the user's requirements.", "You are an agent for software engineering tasks.",
           "You are a command line tool of the company that helps users with software engineering tasks. Use the instructions below.", "You are a sub-agent. Given the task of the main agent, complete it and report back.",
           "You are an expert in your field. Think step by step.", "You are a tutor. Explain clearly and check the result.", "Answer in Markdown. Keep it short.", "Act as a senior consultant.",
           "Sei ein freundlicher Begleiter für den Alltag. Duze den Nutzer.", "Eres el asistente de una tienda. Sé amable y breve.", "Sei l'assistente di uno studio. Rispondi in modo chiaro.", "Jesteś pomocnym asystentem.", "Ты полезный помощник.",
           "You are a careful assistant made by Larkfield. Knowledge cutoff: 2026-01. Current date: 2026-11-19. Use a warm, direct tone and avoid flattery.",
           "## Role\nYou are the company's internal assistant.\n## Rules\n- Be accurate.\n- Ask if something is unclear.\n- Use lists where they help.\n- Never share confidential data.",
           "Respond in the user's language. If the request is ambiguous, state your assumption. Do not use emojis.", "Safety: decline harmful requests. Otherwise be as helpful as possible.",
           "Du bist der digitale Kollege der Abteilung. Antworte sachlich, nenne Quellen, wenn du welche hast.", "Vous êtes l'assistant interne de la société. Répondez avec précision.",
           "Eres un asistente experto. Responde con claridad y sin rodeos.", "Você é um assistente prestativo.", "Je bent een behulpzame assistent.", "Sen yardımsever bir asistansın.", "Bạn là một trợ lý hữu ích.", "Du är en hjälpsam assistent.",
           "你是一个有用的助手。", "あなたは親切なアシスタントです。", "당신은 유용한 도우미입니다.", "أنت مساعد مفيد."]
FRAMES = ["Good morning, I hope you are well. {} I would really appreciate your help, thank you!", "Could you please do the following for me? {} Many thanks and have a nice day.", "{} Please and thank you :)", "Sorry to bother you again, but {} Take your time!",
          "Guten Tag, könntest du mir bitte helfen? {} Danke im Voraus!", "Hola, buenas. {} ¡Muchas gracias!", "Ciao, avrei bisogno di un aiuto: {} Grazie mille!", "Здравствуйте! {} Заранее спасибо.", "你好，请帮我一下：{} 谢谢！", "お世話になります。{} よろしくお願いします。",
          "Hi! {}\n\nThanks a lot in advance!", "Hello, could you please help me with this: {}", "Hallo, {} Vielen Dank!", "hey there! {} thx", "Bonjour, {} Merci d'avance."]


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
    requests, results, replies, tasks = [], [], [], []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**/*.jsonl"), recursive=True)):
            for line in open(path, encoding="utf-8"):
                item = json.loads(line)
                if "source" in item:
                    tasks.append(item)
                elif "r" in item and "v" in item:
                    results.append(item)
                elif "c" in item or "p" in item:
                    requests.append(item)
                else:
                    replies.append(item)
    return requests, results, replies, tasks


def benchmarks(tasks):
    """Examples from benchmark tasks, and others of the same benchmarks to judge. Tasks of a group are near-duplicates and stay together."""
    train, judge, effects = collections.defaultdict(list), collections.defaultdict(list), task_effects(tasks)
    for t in random.Random(4).sample(tasks, len(tasks)):
        name = benchmark_of(t)
        if name not in BENCHMARKS or not t["prompt"]:
            continue
        tools = [x for x in (t.get("tools") or "").split("; ") if x] if isinstance(t.get("tools"), str) else []
        part = judge if sum(str(t["group"]).encode()) % HELD_OUT == 0 else train
        part[name].append({"c": None, "f": BENCHMARKS[name], "u": t["prompt"], "t": tools, "b": name, "effect": effects[t["id"]]})
    return [i for rows in train.values() for i in rows[:PER_BENCHMARK]], [i for rows in judge.values() for i in rows[:PER_BENCHMARK]]


def benchmark_of(task):
    return task["source"] if task["source"] in BENCHMARKS else task.get("task") if task["source"] == "llmrouter_ulab" else None


def task_effects(tasks):
    """How much harder a task is than the mean of its benchmark, in classes: from the models that failed, shrunk by the noise of few models."""
    by = collections.defaultdict(list)
    for t in tasks:
        by[benchmark_of(t)].append(t)
    effects = {}
    for rows in by.values():
        of_model = collections.defaultdict(list)
        for t in rows:
            for m, score in t["scores"].items():
                of_model[m].append(score)
        mean = {m: sum(v) / len(v) for m, v in of_model.items()}
        chance = max(0.08, sum(p * (1 - p) for p in mean.values()) / len(mean))
        missed = np.array([np.mean([mean[m] - score for m, score in t["scores"].items()]) for t in rows])
        noise = np.array([chance / len(t["scores"]) for t in rows])
        real = max(0.002, missed.var() - noise.mean())
        for t, e in zip(rows, np.clip(missed * real / (real + noise) / chance / LOGITS, -1.2, 1.2)):
            effects[t["id"]] = float(e)
    return effects


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
    """Inputs of a table, steps of measures and stems, with the weights of the present table."""

    def __init__(self, path, rows, minimum, scale):
        lines = [line.split(",") for line in open(path, encoding="utf-8").read().splitlines()] if os.path.exists(path) else [["input"]]
        present = {cells[0]: [float(c) for c in cells[1:]] for cells in lines[1:] if not cells[0].startswith("level ")}
        self.levels = [float(cells[1]) for cells in lines[1:] if cells[0].startswith("level ")]
        self.steps = [(m, float(t)) for m, found, t in (name.partition(">") for name in present) if found]
        for m in sorted({m for r in rows for m in r["measures"]} - {m for m, _ in self.steps}):
            self.steps += [(m, t) for t in thresholds([r["measures"].get(m, 0) for r in rows])]
        count = collections.Counter(s for r in rows for s in set(r["stems"]))
        stems = [s for s in present if s != "offset" and ">" not in s] + [s for s, n in sorted(count.items()) if n >= minimum and s not in present]
        self.stems = {s: i for i, s in enumerate(stems)}
        self.names = ["offset"] + ["%s>%g" % s for s in self.steps] + stems
        self.scale = np.array([scale] * (1 + len(self.steps)) + [1] * len(stems), np.float32)
        none = [0.0] * (max(len(v) for v in present.values()) if present else 1)
        # scale: how far the offset and the steps follow the new examples
        self.present = np.array([present.get(name, none) for name in self.names], np.float32) / self.scale[:, None]
        self.count = count

    def matrix(self, rows):
        x = np.zeros((len(rows), len(self.names)), dtype=np.float32)
        x[:, 0] = 1
        for i, r in enumerate(rows):
            for j, (m, t) in enumerate(self.steps):
                x[i, 1 + j] = r["measures"].get(m, 0) > t
            total = collections.Counter(s.split(" ")[0] for s in r["stems"])
            for s in set(r["stems"]):
                if s in self.stems:
                    x[i, 1 + len(self.steps) + self.stems[s]] = 1 / math.sqrt(total[s.split(" ")[0]])
        return x * self.scale

    def large(self, w, smallest):
        """Whether an input stays: a step that counts at all, or a stem with a weight of at least smallest."""
        size = np.abs(w * self.scale[:, None] / SPREAD[:w.shape[1]]).max(axis=1)
        return size >= np.where([name == "offset" or ">" in name for name in self.names], 0.01, smallest)

    def write(self, path, columns, w, kept, levels=None):
        with open(path, "w", encoding="utf-8") as f:
            f.write("input," + ",".join(columns) + "\n")
            for i, level in enumerate(levels or []):
                f.write("level %d,%.3f\n" % (i, level))
            for name, row, stays in zip(self.names, w * self.scale[:, None], kept):
                if stays:
                    f.write(name + "," + ",".join("%g" % round(float(v), 3 if name == "offset" or ">" in name else 2) for v in row) + "\n")
        print("%s: %d of %d rows" % (os.path.basename(path), kept.sum(), len(self.names)))


class Ridge:
    """A ridge regression with sparse inputs."""

    def __init__(self, x, weight):
        self.s, self.x = np.sqrt(weight), sparse.csr_matrix(x)
        self.weighted = sparse.diags(self.s) @ self.x

    def weights(self, y, rows, penalty):
        columns = [lsqr(self.weighted[rows], self.s[rows] * y[rows, c], damp=math.sqrt(penalty), atol=1e-7, btol=1e-7, iter_lim=1000)[0] for c in range(y.shape[1])]
        return np.array(columns, np.float32).T

    def folds(self, y, rows, penalty, groups, folds=5):
        """Predictions for the rows from weights of the other folds."""
        out = np.full(y.shape, np.nan, np.float32)
        order = {g: i for i, g in enumerate(random.Random(1).sample(sorted(set(groups)), len(set(groups))))}
        fold = np.array([order[g] % folds for g in groups])
        for f in range(folds):
            b = np.where(rows & (fold == f))[0]
            out[b] = self.x[b] @ self.weights(y, np.where(rows & (fold != f))[0], penalty)
        return out


def difficulty(levels, estimates):
    """The difficulties of estimates: a level stands for its class, as in table.difficulty."""
    return np.interp(estimates, levels, range(4))


def within(levels, wanted, estimate):
    """The estimate nearest to a given one that is read as the wanted difficulty, up to BAND: only prompts that are misread teach."""
    low = np.interp(wanted - BAND, range(4), levels) if wanted > BAND else -np.inf
    high = np.interp(wanted + BAND, range(4), levels) if wanted < 3 - BAND else np.inf
    return np.clip(estimate, low, high)


# Columns that are known for the same rows, and the penalty for a change of their weights.
PARTS = [([0], 2.0), (list(range(3, 9)), 1.0), ([1], 10.0), ([2], 0.5)]
CLASS_WEIGHTS = [2.0, 1.6, 0.8, 1.0]  # most of what people send is simple, most of what is worth writing for training is not
LOGITS = 1.65  # of a class of difficulty
MINIMUM = 3  # rows that a stem must occur in
TEXT_PENALTY, TEXT_SMALLEST = 1.0, 0.15  # penalty, and smallest weight of a stem, for results and replies
BAND = 0.3  # difficulties that count as right around the labelled one
SPREAD = np.array([1, 1.5, 0.4] + [0.5] * len(FAMILIES))  # weights of a column that matter alike
SMALLEST = 0.5  # stems with smaller weights are left out
BENCHMARK_WEIGHT = 0.6


def train_requests(program, items, tasks, out):
    train, judge = benchmarks(tasks)
    rows, meta = [], []
    for n, item in enumerate(items + train):
        variants = [request(item)]
        if item.get("c") and not item.get("s") and len(item["u"]) < 3000:
            r = random.Random(n)
            variants.append(request(item, system=r.choice(NEUTRAL)) if r.random() < 0.6 else request(item, r.choice(FRAMES)))
        for i, body in enumerate(variants):
            rows.append({"request": body})
            meta.append((n, BENCHMARK_WEIGHT if "b" in item else 1 if i == 0 else 0.7, item))
    read_rows = inputs(program, rows)
    keep = [i for i, r in enumerate(read_rows) if "inherited" not in r["reading"]["Findings"]]
    read_rows, meta = [read_rows[i] for i in keep], [meta[i] for i in keep]
    table = Table(os.path.join(out, "requests.csv"), read_rows, MINIMUM, 0.1)
    columns = ["difficulty", "length", "housekeeping"] + FAMILIES
    weight, groups = np.array([m[1] * (CLASS_WEIGHTS[CLASSES.index(m[2]["c"])] if m[2].get("c") else 1) for m in meta]), np.array([m[0] for m in meta])
    x = table.matrix(read_rows)
    y0 = x @ table.present
    y, known = np.zeros((len(meta), len(columns)), np.float32), np.zeros((len(meta), len(columns)), bool)
    level_of = collections.defaultdict(list)
    for (_, _, item), estimate in zip(meta, y0[:, 0]):
        if "b" in item:
            level_of[item["b"]].append(difficulty(table.levels, estimate))
    for i, (_, _, item) in enumerate(meta):
        if "b" in item or item.get("c"):
            d = None if "b" in item else item.get("level", CLASSES.index(item["c"])) + 0.7 * ("loop" in read_rows[i]["reading"]["Findings"])
            y[i, 3 + FAMILIES.index(item["f"])], known[i, 3:] = 1, True
        elif item["p"] != "none":
            d = 0 if item["o"][1] <= 60 else 0.7
            y[i, 3], known[i, 3:] = 1, True
        known[i, 0] = known[i, 3]
        if "b" in item:  # the mean of a benchmark stays, its tasks are ordered by their outcomes
            y[i, 0] = np.interp(np.mean(level_of[item["b"]]) + item["effect"], range(4), table.levels)
        elif known[i, 0]:
            y[i, 0] = within(table.levels, min(3, d), y0[i, 0])
        y[i, 2], known[i, 2] = float(item.get("p", "none") != "none"), True
        if "o" in item:
            low, high = max(1, item["o"][0]), max(1, item["o"][1])
            y[i, 1], known[i, 1] = math.log(low * high) / 2, True
    classes = np.array([CLASSES.index(m[2]["c"]) if m[2].get("c") else -1 for m in meta])
    fit = Ridge(x, weight)

    def solve(method, change, *more):
        return np.hstack([method(change[:, part], known[:, part[0]], penalty, *more) for part, penalty in PARTS])[:, np.argsort(sum((part for part, _ in PARTS), []))]

    p = y0 + solve(fit.folds, y - y0, groups)
    real = np.array([m[1] == 1 for m in meta])
    a = real & (classes >= 0)
    loop = np.array(["loop" in r["reading"]["Findings"] for r in read_rows])
    for name, q in (("before", y0), ("out of fold", p)):
        report(name, difficulty(table.levels, q[a, 0]) - 0.7 * loop[a], classes[a])
    o = np.array([m[2].get("o", [1, 1]) for m in meta], float)
    visible = np.exp(p[:, 1])
    fits = (visible >= o[:, 0] / 3) & (visible <= 3 * o[:, 1])
    print("length within range: %.3f (labelled prompts %.3f)" % (fits[real & known[:, 1]].mean(), fits[a].mean()))
    print("family: %.3f" % (p[a, 3:].argmax(1) == y[a, 3:].argmax(1)).mean())
    for limit in (0.3, 0.35, 0.4, 0.5):
        h, t = p[real, 2] > limit, y[real, 2] > 0.5
        print("housekeeping above %.2f: precision %.3f recall %.3f of %d" % (limit, (h & t).sum() / max(1, h.sum()), (h & t).sum() / t.sum(), t.sum()))
    kept = table.large(table.present + solve(fit.weights, y - y0), SMALLEST)
    few = table.present * kept[:, None]
    w = few + solve(Ridge(x * kept, weight).weights, y - x @ few)  # the inputs that stay make up for the others
    if judge:
        judged = inputs(program, [{"request": request(i)} for i in judge])
        q = table.matrix(judged) @ w
        right = collections.defaultdict(list)
        for item, row in zip(judge, q):
            right[item["b"]].append((FAMILIES[row[3:].argmax()] == item["f"], float(difficulty(table.levels, row[0]))))
        print("held-out benchmark tasks, family and mean difficulty: " + ", ".join("%s %.2f %.1f" % (b, *np.mean(v, axis=0)) for b, v in right.items()))
    table.write(os.path.join(out, "requests.csv"), columns, w, kept, table.levels)


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
    path = os.path.join(out, {"result": "results.csv", "reply": "replies.csv"}[kind])
    rows = inputs(program, [{kind: text} for text in texts])
    table = Table(path, rows, 2, 0.3)
    x, y = table.matrix(rows), np.array(y, np.float32)
    y0 = x @ table.present
    fit, every = Ridge(x, weight), np.ones(len(rows), bool)
    p = y0 + fit.folds(y - y0, every, TEXT_PENALTY, list(range(len(rows))))
    for name, q in (("before", y0), ("out of fold", p)):
        for c, column in enumerate(columns):
            h, t = q[:, c] > 0.5, y[:, c] > 0.5
            print("%s, %s: %d %s, precision %.3f recall %.3f, of the others %.3f" % (column, name, len(rows), kind, (h & t).sum() / max(1, h.sum()), (h & t).sum() / t.sum(), h[~t].mean()))
    w = table.present + fit.weights(y - y0, every, TEXT_PENALTY)
    table.write(path, columns, w, table.large(w, TEXT_SMALLEST))


def main():
    program, out, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    items, results, replies, tasks = read(folders)
    train_texts(program, out, "result", [i["r"] for i in results], ["failed"], [[i["v"] == "failed"] for i in results], np.ones(len(results)))
    y = np.array([[i["v"] != "new", i["v"] == "still_broken"] for i in replies])
    train_texts(program, out, "reply", [i["u"] for i in replies], ["continues", "complains"], y, np.where(y[:, 0], 1, (y[:, 0]).mean() / (1 - y[:, 0].mean())))
    train_requests(program, items, tasks, out)


if __name__ == "__main__":
    main()
