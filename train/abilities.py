#!/usr/bin/env python3
"""Fits the ability table of the catalog to public scores and recorded outcomes.

    python3 train/abilities.py FACTS ROUTING [--judge FILE]

FACTS has benchmarks.csv, ROUTING has dev/ and agents/single/. The program writes abilities.csv and ability_prior.csv into
internal/catalog/data and prints the errors. With --judge, it writes only FILE: a table with the names of the recorded outcomes, fitted
to all of them, to judge routers.

Model of a score: logit(score) = a + s * (w . ability + gain of the effort) + noise, with a, s and the noise of each board edition, and the
weights w of the families that the board measures. The abilities of a model are its level times a loading of the family plus a difference.
The level has a prior from vendor, line, price and release date. Everything is fitted together by expectation maximisation."""
import argparse
import collections
import csv
import fnmatch
import json
import math
import pathlib
import re

import numpy as np

FAMILIES = ["short", "chat", "knowledge", "maths", "code", "agents"]
LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
SMALL = ["gpt-6-luna", "claude-haiku-5-5", "gemini-3.5-flash-lite"]  # level 0 is their mean
# The unit of a family is the mean logit of its boards. Votes compare two answers that are often both good, so a logit of votes counts more.
UNIT = {"chat": .65}
# Names under which a vendor sells a model at another speed, with a search or to other customers.
VARIANTS = {
    "claude-mythos-5-1": "claude-fable-5-1", "kimi-k2.7-code-highspeed": "kimi-k2.7-code", "muse-spark-1.3-contributor": "muse-spark-1.3", "o3-deep-research": "o3",
    "o4-mini-deep-research": "o4-mini", "gpt-4o-search-preview": "gpt-4o", "gpt-4o-audio-preview": "gpt-4o", "gpt-4o-mini-search-preview": "gpt-4o-mini",
    "gpt-oss-safeguard-20b": "gpt-oss-20b", "minimax-m2.5-highspeed": "minimax-m2.5", "minimax-m2.7-highspeed": "minimax-m2.7",
}
DATA = pathlib.Path(__file__).resolve().parent.parent / "internal/catalog/data"

# Boards: pattern of the edition, families, form of the score (p: per cent, e: Elo, o: AA Omniscience, i: small difference), smallest noise.
# A family in brackets is measured at easy tasks, where an effort gains little.
BOARDS = [
    (r"AA Intelligence Index v4\.3", "knowledge maths code agents", "p", .10),
    (r"AA Intelligence Index( v4\.1.*)?", "knowledge maths code agents short", "p", .20),
    (r"Vals Index v2(\.1)?|LiveBench 2\.0 overall", "knowledge code agents", "p", .20),
    (r"whatmodel\.sh score.*", "knowledge maths code agents", "p", .30),
    (r"GPQA Diamond \(AA\)|Humanity's Last Exam \(AA\)", "knowledge", "p", .20),
    (r"AA Omniscience", "knowledge", "o", .25),
    (r"AA-Omniscience index \(v4\.3\)", "knowledge", "o", .15),
    (r"Legal Research \(Vals\)|GPQA \(vendor card\)|MMLU(-Pro)? \(vendor card\)|SimpleQA \(vendor card\)|MMMLU \(vendor card\)", "knowledge", "p", .25),
    (r"IFBench \(AA\)|LiveBench (IF|Data Analysis|Language)|Long Context Reasoning \(AA\)|AA-LCR v1\.1 \(AA\)", "short", "p", .20),
    (r"CorpBench Work 1\.3 pass rate|Permission review.*", "(short)", "p", .25),
    (r"IFEval \(vendor card\)", "short", "p", .30),
    (r"LMArena text (overall|creative writing|multi-turn) \(style control\)|Arena text overall.*", "chat", "e", .20),
    (r"Arena-Hard.*", "chat", "p", .40),
    (r"LiveBench (Mathematics|Reasoning)|joonlab reasoning.*|ARC-AGI-2 \(semi-private\)", "maths", "p", .20),
    (r"llm2014 logic.*", "maths", "p", .30),
    (r"MATH \(vendor card\)|AIME 202[45] \(vendor card\)|MGSM \(vendor card\)|MATH-500.*", "maths", "p", .35),
    (r"LiveBench Coding|SciCode \(AA\)|AA Coding Index|Aider polyglot pass rate.*|Vibe Code Bench \(Vals\)|Desklet.*|joonlab coding.*", "code", "p", .20),
    (r"HumanEval \(vendor card\)|LiveCodeBench \(vendor card\)", "code", "p", .35),
    (r"Arena code \(WebDev\)|LMArena text coding \(style control\)", "code chat", "e", .35),
    (r"LiveBench Agentic Coding|Terminal-Bench Hard \(AA\)|AA Agentic Index|Terminal-Bench [24]\.[01] \((Vals|AA|official|AA Coding Agent.*)\)", "agents", "p", .20),
    (r"tau2-bench \(AA\)|Finance Agent v2.*|BFCL v4 (overall|multi-turn|live)|Code Migration.*", "agents", "p", .30),
    (r"AA Coding Agent Index.*|DeepSWE.*|SWE-Atlas.*|AA Coding Index \(v4\.3\)", "agents code", "p", .20),
    (r"SWE-[Bb]ench.*|Terminal-Bench.*(vendor|listed).*|TAU-bench.*", "agents code", "p", .35),
    (r"Arena Agent IPS.*", "agents", "i", .30),
]
# Recorded outcomes whose licence allows a shipped result: source, pattern of the task, families.
OUTCOMES = [
    ("routellm_mmlu", "", "knowledge"), ("routellm_gsm8k", "", "(maths)"), ("mmlu_pro", "", "knowledge"), ("zeroeval_gsm", "", "(maths)"),
    ("zeroeval_math_l5", "", "maths"), ("zeroeval_mmlu_redux", "", "knowledge"), ("zeroeval_zebra_grid", "", "maths"), ("bfcl", "", "agents"),
    ("llmrouter_ulab", "gsm8k|math|agentverse", "maths"), ("llmrouter_ulab", "mmlu|gpqa|natural_qa|trivia_qa", "knowledge"),
    ("llmrouter_ulab", "mbpp|human_eval", "code"), ("llmrouter_ulab", "commonsense_qa|openbook_qa|arc_challenge", "(short)"),
    ("livecodebench", "", "code"), ("swebench_pro", "", "agents code"), ("mint_outcomes", "", "agents"),
]
# Sources that may only be used to judge: they enter the table of --judge, never the shipped one.
JUDGED = [
    ("routerbench_arc", "", "(short)"), ("routerbench_winogrande", "", "(short)"), ("routerbench_mbpp", "", "code"), ("gemini_(svamp|maws?ps.*)", "", "(maths)"),
    ("gemini_(humaneval|odex)", "", "code"), ("routerdc7", "", "knowledge"), ("swebench_verified", "", "agents"), ("alpaca_eval", "", "chat"),
]
# Names in the recorded outcomes, where they differ from the catalog.
NAMES = {
    "claude-3-haiku-20240307": "claude-3-haiku", "claude-3-7-sonnet-20250219-thinking": "claude-3-7-sonnet", "gpt-4o-2024-05-13": "gpt-4o", "gpt-4o-2024-08-06": "gpt-4o",
    "gpt-4o-mini-2024-07-18": "gpt-4o-mini", "gpt-3.5-turbo-0125": "gpt-3.5-turbo", "gpt-4-turbo-2024-04-09": "gpt-4-turbo", "gpt-4-1106-preview": "gpt-4-turbo",
    "mixtral-8x7b-instruct-v0.1": "mixtral-8x7b-instruct", "open-mixtral-8x22b": "mixtral-8x22b-instruct", "gpt-4-0613": "gpt-4", "deepseek-v3": "deepseek-v3-0324",
    "llama-3.1-405b-inst@sambanova": "llama-3.1-405b-instruct", "mistral-nemo-instruct-2407": "mistral-nemo", "kimi-k2": "kimi-k2-0905",
}


def names_of_outcomes():
    path = pathlib.Path(__file__).with_name("names.csv")
    return {r["name"]: r["model"] for r in table(path)} if path.exists() else {}


def table(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def effort_of(text):
    """Returns the effort that a source names, or an empty string for the default."""
    text = text.lower()
    if re.search(r"non-?reasoning|nothinking|\bnone\b", text):
        return "none"
    for pattern, level in ((r"xhigh", "xhigh"), (r"\bmax\b", "max"), (r"minimal", "minimal"), (r"\blow\b", "low"), (r"medium", "medium"), (r"high", "high"), (r"reasoning|thinking", "high")):
        if re.search(pattern, text):
            return level
    return ""


def default_effort(vendor, name):
    """Returns the effort of a request that asks for none. Vendors whose efforts are not chosen have high, which their scores describe."""
    if vendor == "OpenAI":
        return "none" if re.match(r"gpt-(5\.[1-4](?!.*(codex|pro))|4|3)", name) else "high" if name == "gpt-5-pro" else "medium"
    if vendor == "Anthropic":
        if re.search(r"opus-5-5|haiku-5-5", name):
            return "medium"
        return "high" if re.search(r"-5($|-)(?!20)", name) and not re.search(r"-4-5|-3-", name) else "none"
    if vendor == "Google" and name.startswith("gemini"):
        return "minimal" if re.search(r"flash-lite", name) else "high" if re.search(r"2\.5|gemini-3-|3\.1-pro|argon", name) else "medium"
    return "high"


def accepted(vendor, model, rules):
    """Returns the efforts that can be chosen for a model, in order."""
    name = model["name"]
    if "reasoning" not in model["abilities"]:
        return []
    if vendor == "OpenAI":
        rule = next((r for r in rules if "openai" in r["providers"] and fnmatch.fnmatch(name, r["model"])), None)
        return rule["efforts"].split("+") if rule and "+" in rule["efforts"] else []
    if vendor == "Anthropic":
        levels = ["low", "medium", "high"]
        if re.search(r"-4-[78]|(opus|sonnet|haiku|fable|mythos)-5", name):
            levels += ["xhigh", "max"]
        elif "opus-4-6" in name:
            levels += ["max"]
        return levels if re.search(r"fable|mythos|(opus|sonnet)-5-5", name) else ["none"] + levels
    if vendor == "Google" and name.startswith("gemini"):
        levels = ["low", "high"] if "3-pro" in name else ["low", "medium", "high"]
        return (["none"] if re.search(r"2\.5-flash", name) else ["minimal"] if re.search(r"3-flash|3\.[15]-flash", name) else []) + levels
    return []


def line_of(name):
    """The line of a model is its name without versions, such as claude-haiku or gpt-luna. The Go code has the same rule."""
    return "-".join(w for w in name.split("-") if not re.search(r"\d", w) and w not in ("preview", "latest", "instruct", "exp", "it", "reasoning", "non", "thinking"))


def logit(p):
    return math.log(p / (1 - p))


def weights(text):
    easy = text.startswith("(")
    w = np.zeros(6)
    for name in text.strip("()").split():
        w[FAMILIES.index(name)] = 1
    return w / w.sum(), .3 if easy else 1


class Board:
    def __init__(self, name, families, floor, own):
        self.name, self.floor, self.own = name, floor, own
        self.w, self.h = weights(families)
        self.a, self.s, self.var = 0.0, 1.0, max(.35, floor) ** 2
        self.form = "p"
        self.rows = collections.defaultdict(list)  # model: [(effort, y, variance of sampling)]

    def weight(self, variance):
        """The weight of a score. A vendor's own score counts a third."""
        return 1 / (self.var * (3 if self.own else 1) + variance)


def public_scores(facts):
    boards = {}
    for r in table(facts / "benchmarks.csv"):
        found = next((b for b in BOARDS if re.fullmatch(b[0], r["benchmark"])), None)
        if not found or "Q4" in r["variant"] or "cost per" in r["benchmark"] or float(r["value"]) == 0:
            continue  # a score of exactly 0 is a run that failed
        _, families, form, floor = found
        own = r["self_reported"] != "no" or "vendor" in r["benchmark"]
        x = float(r["value"])
        if form == "e":
            y = x / 173.7
        elif form == "i":
            y = 8 * x
        else:
            p = (x + 100) / 200 if form == "o" else x / 100
            y = logit(min(max(p, .02), .98))
        b = boards.setdefault(r["benchmark"], Board(r["benchmark"], families, floor, own))
        b.form = form
        b.rows[r["model_key"]].append((effort_of(r["variant"]), y, .15 ** 2 if "estimated" in r["variant"] else .03 ** 2))
    for b in boards.values():
        for m, rows in b.rows.items():  # a plain row beside one that thinks is the model without thinking
            if not re.match("gpt|claude|gemini", m) and "high" in (e for e, _, _ in rows):
                b.rows[m] = [(e or "none", y, v) for e, y, v in rows]
    return boards


def known_as(name):
    """Returns the catalog's name and the effort of a name in the recorded outcomes."""
    level = re.search(r"[-(](low|medium|high)( reasoning\))?$", name)
    bare = re.sub(r"(-\d{4}-\d\d-\d\d)?-(low|medium|high)$", "", name.removesuffix("-fc"))
    return NAMES.get(name, NAMES.get(bare, bare)), level[1] if level else ""


def recorded(routing, sources):
    """Returns the boards of the recorded outcomes, and all names in them."""
    sums, names = collections.defaultdict(lambda: [0, 0.0]), set()
    for path in [*sorted((routing / "dev").glob("*.jsonl")), *sorted((routing / "agents/single").glob("*.jsonl"))]:
        for text in open(path, encoding="utf-8"):
            d = json.loads(text)
            names.update(d["scores"])
            for source, pattern, families in sources:
                if re.fullmatch(source, d["source"]) and re.search(pattern, d["task"]):
                    for model, score in d["scores"].items():
                        s = sums[source + " " + families + (" with tools" if model.endswith("-fc") else ""), families, model]
                        s[0] += 1
                        s[1] += score
    boards = {}
    for (name, families, model), (n, total) in sums.items():
        if n >= 50:
            b = boards.setdefault(name, Board(name, families, .25, False))
            key, effort = known_as(model)
            p = min(max(total / n, .02), .98)
            b.rows[key].append((effort, logit(p), 1 / (n * p * (1 - p))))
    return boards, names


class Fit:
    """The joint fit. models has for each name the vendor, price, date and line."""

    def __init__(self, boards, models):
        self.models = models
        self.names = sorted({m for b in boards.values() for m in b.rows if m in models} | {n for n in models if models[n]["listed"]})
        self.index = {n: i for i, n in enumerate(self.names)}
        self.boards = [b for b in boards.values() if sum(m in models for m in b.rows) >= 4]
        for b in self.boards:
            b.rows = {m: r for m, r in b.rows.items() if m in models}
        self.loading, self.offset = np.ones(6), np.zeros(6)
        self.level_var, self.family_var = .5, np.full(6, .15)
        self.gains = {}
        self.features()
        self.mean = np.zeros(len(self.names))

    def features(self):
        """The features of the prior. Missing prices and dates have the mean, and a wider prior."""
        rows = [self.models[n] for n in self.names]
        self.columns = ["price", "year"] + sorted({"vendor:" + r["vendor"] for r in rows if r["vendor"]} | {"line:" + r["vendor"] + ":" + r["line"] for r in rows if r["listed"]})
        at = {c: i for i, c in enumerate(self.columns)}
        self.x = np.zeros((len(rows), len(self.columns)))
        for i, r in enumerate(rows):
            self.x[i, 0] = math.log2(r["price"]) if r["price"] else -1
            self.x[i, 1] = r["year"]
            for c in ("vendor:" + r["vendor"], "line:" + r["vendor"] + ":" + r["line"]):
                if c in at:
                    self.x[i, at[c]] = 1
        self.wide = np.array([1 if r["price"] and r["vendor"] else 2 for r in rows])

    def observations(self):
        """One observation per board and model: its rows without the gains of their efforts, averaged."""
        for b in self.boards:
            b.obs = []
            for m, rows in b.rows.items():
                ys = [(y - b.s * b.h * self.gains.get(m, {}).get(e, 0), v) for e, y, v in rows]
                weight = [1 / (v + .02) for _, v in ys]
                y = sum(w * y for w, (y, _) in zip(weight, ys)) / sum(weight)
                b.obs.append((self.index[m], y, min(v for _, v in ys)))

    def information(self):
        """The precision and the precision times mean of (level, six abilities) of every model."""
        n, c, level_var = len(self.names), self.loading, self.level_var * self.wide
        precision, linear = np.zeros((n, 7, 7)), np.zeros((n, 7))
        precision[:, 0, 0] = 1 / level_var + (c * c / self.family_var).sum()
        precision[:, 0, 1:] = precision[:, 1:, 0] = -c / self.family_var
        precision[:, range(1, 7), range(1, 7)] = 1 / self.family_var
        linear[:, 0] = self.mean / level_var - (c * self.offset / self.family_var).sum()
        linear[:, 1:] = self.offset / self.family_var
        for b in self.boards:
            g = b.s * b.w
            for i, y, v in b.obs:
                k = b.weight(v)
                precision[i, 1:, 1:] += k * np.outer(g, g)
                linear[i, 1:] += k * g * (y - b.a)
        return precision, linear

    def posterior(self):
        precision, linear = self.information()
        cov = np.linalg.inv(precision)
        return np.einsum("nij,nj->ni", cov, linear), cov

    def fit_board(self, b, mean, cov, without=frozenset()):
        obs = [(i, y, v) for i, y, v in b.obs if i not in without]
        if len(obs) < 3:
            return
        i = np.array([o[0] for o in obs])
        y = np.array([o[1] for o in obs])
        k = 1 / (b.var + np.array([o[2] for o in obs]))
        x = mean[i, 1:] @ b.w
        v = np.einsum("f,nfg,g->n", b.w, cov[i][:, 1:, 1:], b.w)
        mx, my = (k * x).sum() / k.sum(), (k * y).sum() / k.sum()
        strength = 1 / .35 ** 2
        b.s = max(.1, ((k * (x - mx) * (y - my)).sum() + strength) / ((k * ((x - mx) ** 2 + v)).sum() + strength))
        b.a = my - b.s * mx
        r = (y - b.a - b.s * x) ** 2 + b.s ** 2 * v
        b.var = max(b.floor ** 2, (r.sum() + 4 * .35 ** 2) / (len(obs) + 4))

    def prior(self, mean, cov):
        """Regresses the levels on the features, with narrow priors for vendors and lines."""
        ridge = np.array([4.0, 1.0] + [1 / .35 ** 2] * (len(self.columns) - 2))
        weight = 1 / (cov[:, 0, 0] + self.level_var) / self.wide
        weight /= weight.mean() * self.level_var
        centre = np.append(self.x[:, :2].mean(0), np.zeros(len(self.columns) - 2))
        x = np.hstack([np.ones((len(self.names), 1)), self.x - centre])
        a = x.T @ (weight[:, None] * x) + np.diag(np.append(1e-6, ridge))
        beta = np.linalg.solve(a, x.T @ (weight * mean[:, 0]))
        self.mean = x @ beta
        self.coefficients = dict(zip(["intercept"] + self.columns, np.append(beta[0] - centre @ beta[1:], beta[1:])))
        self.level_var = float(np.mean(((mean[:, 0] - self.mean) ** 2 + cov[:, 0, 0]) / self.wide))

    def fit_gains(self):
        """Gains of efforts from the differences within one board and model: a common curve, shrunken differences by vendor and model."""
        rows, groups = [], collections.defaultdict(list)
        for b in self.boards:
            for m, scores in b.rows.items():
                named = [(e or self.models[m]["default"], y) for e, y, _ in scores]
                if b.h == 1 and len({e for e, _ in named}) > 1:
                    for e, y in named:
                        groups[b, m].append(len(rows))
                        rows.append((b, m, e, y / b.s))
        columns = {}
        for _, m, e, _ in rows:
            for key in (("all", e), (self.models[m]["vendor"], e), (m, e)):
                columns.setdefault(key, len(columns))
        x, y = np.zeros((len(rows), len(columns))), np.zeros(len(rows))
        k = np.zeros(len(rows))
        for j, (b, m, e, value) in enumerate(rows):
            for key in (("all", e), (self.models[m]["vendor"], e), (m, e)):
                x[j, columns[key]] = 1
            y[j], k[j] = value, b.s ** 2 / (b.var + .05)
        for members in groups.values():
            x[members] -= x[members].mean(0)
            y[members] -= y[members].mean()
        ridge = np.diag([1e-3 if key[0] == "all" else 1 / .2 ** 2 if key[0] not in self.models else 1 / .25 ** 2 for key in columns])
        beta = np.linalg.solve(x.T @ (k[:, None] * x) + ridge, x.T @ (k * y))
        curve = {key: beta[i] for key, i in columns.items()}
        vendors = {v: {"vendor": v, "default": "high" if v == "Anthropic" else "medium"} for v in ("OpenAI", "Anthropic", "Google")}
        for m, r in [*self.models.items(), *vendors.items()]:  # the gains of a vendor are for its unrated models
            total = [sum(curve.get(key, 0) for key in (("all", e), (r["vendor"], e), (m, e))) for e in LEVELS]
            total = monotone(total)
            base = total[LEVELS.index(r["default"])]
            self.gains[m] = {e: g - base for e, g in zip(LEVELS, total)}

    def run(self, rounds=40):
        for step in range(rounds):
            self.observations()
            mean, cov = self.posterior()
            for b in self.boards:
                self.fit_board(b, mean, cov)
            for f in range(6):  # the unit of a family is the mean logit of its boards
                own = [(b.w[f] * len(b.obs), b.s) for b in self.boards if b.w[f] > .4]
                factor = sum(w * s for w, s in own) / sum(w for w, _ in own) / UNIT.get(FAMILIES[f], 1)
                mean[:, f + 1] *= factor
                cov[:, f + 1] *= factor
                cov[:, :, f + 1] *= factor
                for b in self.boards:
                    if b.w[f] > .4:
                        b.s /= factor
            l, ll = mean[:, 0], mean[:, 0] ** 2 + cov[:, 0, 0]
            known = 1 / np.diagonal(cov, axis1=1, axis2=2)[:, 1:]
            for f in range(6):
                k = known[:, f]
                a = np.array([[(k * ll).sum(), (k * l).sum()], [(k * l).sum(), k.sum()]])
                t = mean[:, f + 1]
                self.loading[f], self.offset[f] = np.linalg.solve(a, [(k * (t * l + cov[:, 0, f + 1])).sum(), (k * t).sum()])
                d = t - self.loading[f] * l - self.offset[f]
                var = cov[:, f + 1, f + 1] - 2 * self.loading[f] * cov[:, 0, f + 1] + self.loading[f] ** 2 * cov[:, 0, 0]
                self.family_var[f] = max(.02, (d * d + var).mean())
            self.loading /= self.loading.mean()
            self.offset -= self.offset.mean()
            self.prior(mean, cov)
            if step % 3 == 0:
                self.fit_gains()
        self.observations()
        return self.posterior()


def monotone(values):
    """Pools adjacent values until none falls."""
    blocks = []
    for v in values:
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            v, n = blocks.pop()
            u, m = blocks.pop()
            blocks.append([(u * m + v * n) / (m + n), m + n])
    return [v for v, n in blocks for _ in range(n)]


def catalog_models(facts):
    """The chat models of the catalog with the features of the prior, and further models of the facts."""
    price = {}
    for o in table(DATA / "offers.csv"):
        if o["input"] and float(o["input"]) > 0:
            price.setdefault(o["model"], {})[o["provider"]] = (3 * float(o["input"]) + float(o["output"])) / 4
    rules, models = table(DATA / "parameters.csv"), {}
    for m in table(DATA / "models.csv"):
        if m["op"] == "chat":
            offers = price.get(m["name"], {})
            listed = offers.get(m["home"]) or (sorted(offers.values())[(len(offers) - 1) // 2] if offers else 0)
            models[m["name"]] = describe(m["name"], m["vendor"], listed, m["released"], True) | {"efforts": accepted(m["vendor"], m, rules), "family": m["family"]}
    for m in table(facts / "models.csv"):
        if m["kind"] == "chat" and m["model_key"] not in models:
            listed = (3 * float(m["price_in"]) + float(m["price_out"])) / 4 if m["price_in"] else 0
            models[m["model_key"]] = describe(m["model_key"], m["vendor"], listed, m["released"], False)
    return models


def describe(name, vendor, price, released, listed):
    parts = (released.split("-") + ["7", "15"])[:3] if released.count("-") == 0 else (released.split("-") + ["15"])[:3]
    year = int(parts[0]) - 2026 + (int(parts[1]) - 1) / 12 + (int(parts[2]) - 1) / 365 if released else (0 if listed else -2)
    return {"vendor": vendor, "price": price, "year": year, "line": line_of(name), "default": default_effort(vendor, name), "listed": listed, "efforts": []}


def errors(fit, mean, cov):
    """Prints the mean error of a score in points: boards fitted without the model, the model's ability from its other scores or its prior."""
    kept = [(b, b.a, b.s, b.var) for b in fit.boards]
    totals = collections.defaultdict(list)
    inside = []
    for fold in range(10):
        without = {i for i in range(len(fit.names)) if i % 10 == fold}
        for b in fit.boards:
            fit.fit_board(b, mean, cov, without)
        precision, linear = fit.information()
        for b in fit.boards:
            if b.own:
                continue
            for i, y, v in b.obs:
                if i not in without:
                    continue
                g, k = b.s * b.w, b.weight(v)
                p, l = precision[i].copy(), linear[i].copy()
                p[1:, 1:] -= k * np.outer(g, g)
                l[1:] -= k * g * (y - b.a)
                c = np.linalg.inv(p)
                x = c @ l
                guess = b.a + g @ x[1:]
                prior = b.a + g @ (fit.loading * fit.mean[i] + fit.offset)
                centre = b.a if b.form in "ei" else 0
                point = [abs(sigmoid(y - centre) - sigmoid(z - centre)) for z in (guess, prior)]
                inside.append(abs(y - guess) < math.sqrt(g @ c[1:, 1:] @ g + 1 / k))
                for f in np.flatnonzero(b.w):
                    totals[FAMILIES[f]].append((b.w[f], *point))
    for b, b.a, b.s, b.var in kept:
        pass
    for f in FAMILIES:
        w, guess, prior = np.array(totals[f]).T
        print(f"{f:10} {100 * (w * guess).sum() / w.sum():5.1f} points from other scores, {100 * (w * prior).sum() / w.sum():5.1f} from the prior, {len(w)} scores")
    w, guess, prior = np.array([r for f in FAMILIES for r in totals[f]]).T
    print(f"{'all':10} {100 * (w * guess).sum() / w.sum():5.1f} points from other scores, {100 * (w * prior).sum() / w.sum():5.1f} from the prior; {100 * np.mean(inside):.0f} % within one spread")


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def order_siblings(rows, models, boards):
    """Removes contradictions between models of a vendor. A model without independent scores is not below the earlier ones of its family that
    are not much dearer. A model that is newer, not dearer and not rated lower than a sibling is not below it in any family: both move in
    proportion to their variance."""
    def rated(a, b):
        """Whether a is not below b on the whole, or on the boards that have both."""
        both = [(b_.w.sum() * (b_.seen[a] - b_.seen[b]) / b_.s / b_.var) for b_ in boards if not b_.own and a in b_.seen and b in b_.seen]
        return rows[a]["levels"].mean() >= rows[b]["levels"].mean() - .006 or len(both) > 0 and sum(both) >= 0

    vendors = collections.defaultdict(list)
    for n in sorted(rows, key=lambda n: models[n]["year"]):
        if n in VARIANTS and not rows[n]["independent"]:
            rows[n]["levels"] = rows[VARIANTS[n]]["levels"].copy()
        if models[n]["price"]:
            vendors[models[n]["vendor"]].append(n)
    for names in vendors.values():
        for n in names:
            if rows[n]["independent"] < 2 and n not in VARIANTS:
                for o in names:
                    if models[o]["family"] == models[n]["family"] and models[o]["year"] < models[n]["year"] and rows[o]["independent"] > 1 and models[o]["price"] < 1.7 * models[n]["price"]:
                        rows[n]["levels"] = np.maximum(rows[n]["levels"], rows[o]["levels"])
        pairs = [(a, b) for a in names for b in names if a != b and models[a]["year"] >= models[b]["year"] and models[a]["price"] <= models[b]["price"]]
        for step in range(1000):
            changed = False
            for a, b in pairs:
                x, y = rows[a], rows[b]
                low = np.flatnonzero(x["levels"] < y["levels"] - .004)
                if len(low) == 0 or not rated(a, b):
                    continue
                changed = True
                u, v = x["spreads"][low] ** 2, y["spreads"][low] ** 2
                meet = x["levels"][low] + (y["levels"][low] - x["levels"][low]) * u / (u + v)
                x["levels"][low] = y["levels"][low] = meet
            if not changed:
                break
        else:
            print("siblings did not settle:", models[names[0]]["vendor"])


def fitted(facts, routing, sources):
    """Fits everything and returns the fit, the rows of the table by model, the models and the names in the outcomes."""
    models = catalog_models(facts)
    outcomes, names = recorded(routing, sources)
    boards = public_scores(facts) | outcomes
    for b in boards.values():
        for m in b.rows:
            models.setdefault(m, describe(m, "", 0, "", False))
    fit = Fit(boards, models)
    mean, cov = fit.run()
    errors(fit, mean, cov)
    rows = {}
    for i, n in enumerate(fit.names):
        used = [b for b in fit.boards if n in b.rows]
        rows[n] = {"levels": mean[i, 1:].copy(), "spreads": np.sqrt(np.diag(cov[i])[1:]), "scores": sum(len(b.rows[n]) for b in used), "independent": sum(not b.own for b in used)}
    zero = np.mean([rows[n]["levels"] for n in SMALL], axis=0)
    for r in rows.values():
        r["levels"] -= zero
    fit.offset = fit.offset - zero
    return fit, rows, models, names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("facts", type=pathlib.Path)
    parser.add_argument("routing", type=pathlib.Path)
    parser.add_argument("--judge", type=pathlib.Path)
    args = parser.parse_args()
    if args.judge:
        fit, rows, models, names = fitted(args.facts, args.routing, OUTCOMES + JUDGED)
        judged = {}
        for n in sorted(names | {m for m in rows if models[m]["listed"]}):
            key, effort = known_as(n)
            if key in rows:
                judged[n] = rows[key] | {"levels": rows[key]["levels"] + fit.gains[key].get(effort, 0)}
        return write(args.judge, judged, models, fit.gains)
    fit, rows, models, _ = fitted(args.facts, args.routing, OUTCOMES)
    listed = {n: r for n, r in rows.items() if models[n]["listed"]}
    for b in fit.boards:
        b.seen = {fit.names[i]: y for i, y, _ in b.obs}
    order_siblings(listed, models, fit.boards)
    write(DATA / "abilities.csv", listed, models, fit.gains)
    spread = np.sqrt(fit.loading ** 2 * fit.level_var + fit.family_var)
    terms = [("intercept", fit.coefficients["intercept"]), ("price", fit.coefficients["price"]), ("year", fit.coefficients["year"])]
    for name, values in (("loading", fit.loading), ("offset", fit.offset), ("spread", spread)):
        terms += [(name + ":" + f, v) for f, v in zip(FAMILIES, values)]
    terms += [(f"effort:{v}:{e}", g) for v in ("OpenAI", "Anthropic", "Google") for e, g in fit.gains[v].items()]
    terms += sorted((c, v) for c, v in fit.coefficients.items() if ":" in c and abs(v) >= .005)
    with open(DATA / "ability_prior.csv", "w", encoding="utf-8") as f:
        f.write("term,value\n" + "".join(f"{term},{value:.2f}\n" for term, value in terms))


def write(path, rows, models, gains):
    with open(path, "w", encoding="utf-8") as f:
        f.write("model," + ",".join(FAMILIES) + "," + ",".join(x + "_spread" for x in FAMILIES) + ",efforts,scores\n")
        for n in sorted(rows):
            r, efforts = rows[n], models[n]["efforts"] if n in models else []
            cells = [f"{x + 0:.2f}".replace("-0.00", "0.00") for x in (*np.round(r["levels"], 2), *np.round(r["spreads"], 2))]
            text = "+".join(f"{e}:{gains[n][e]:.2f}".replace("-0.00", "0.00") for e in efforts)
            f.write(",".join([n, *cells, text, str(r["scores"])]) + "\n")


if __name__ == "__main__":
    NAMES |= names_of_outcomes()
    main()
