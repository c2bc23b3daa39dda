"""Reads the outcome files and computes the features of the prompts with the Go program."""
import glob
import hashlib
import json
import os
import subprocess

import numpy as np
import scipy.sparse as sp

# Sources whose licence allows shipping a trained artefact, and the family of each source or task.
FAMILIES = ["mmlu", "mmlu_pro", "gsm", "math", "logic", "tools", "code", "qa", "common"]
TRAINED = {
    "routellm_mmlu": "mmlu", "routellm_gsm8k": "gsm", "mmlu_pro": "mmlu_pro", "zeroeval_gsm": "gsm",
    "zeroeval_math_l5": "math", "zeroeval_mmlu_redux": "mmlu", "zeroeval_zebra_grid": "logic", "bfcl": "tools",
    "llmrouter_ulab": {
        "natural_qa": "qa", "trivia_qa": "qa", "gsm8k": "gsm", "agentverse-mgsm": "gsm", "mbpp": "code",
        "human_eval": "code", "gpqa": "mmlu_pro", "mmlu": "mmlu", "math": "math", "agentverse-logicgrid": "logic",
        "arc_challenge": "common", "openbook_qa": "common", "commonsense_qa": "common", "commongen": "common",
    },
}
JUDGED = [
    "routerbench_arc", "routerbench_mbpp", "routerbench_winogrande", "gemini_svamp", "gemini_flores", "alpaca_eval",
    "swebench_verified", "gemini_humaneval", "gemini_odex", "gemini_mawpsmultiarith",
]
BLOCKS = 4
# Share of right answers by guessing, for multiple-choice tasks whose grader rejects answers in another format.
CHANCE = {"mmlu": 0.25, "gpqa": 0.25, "arc_challenge": 0.25, "openbook_qa": 0.25, "commonsense_qa": 0.2}
GRADED_BY_FORMAT = "llmrouter_ulab"


def family(source, task):
    f = TRAINED.get(source)
    return f.get(task) if isinstance(f, dict) else f


def read(folder, sources):
    """Returns the rows of the sources in the folder, and the digest of each file."""
    rows, digests = [], {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        source = os.path.basename(path)[:-6]
        if source not in sources:
            continue
        with open(path, "rb") as f:
            data = f.read()
        digests[os.path.basename(path)] = hashlib.sha256(data).hexdigest()
        for line in filter(None, data.split(b"\n")):
            row = json.loads(line)
            row["family"] = family(row["source"], row["task"])
            rows.append(row)
    return without_format_failures(rows), digests


def without_format_failures(rows):
    """Removes the outcomes of a model on a multiple-choice task that are worse than guessing: the grader did not recognise its answers,
    so that they say nothing about its ability. Rows without outcomes are removed."""
    graded = lambda r: r["source"] == GRADED_BY_FORMAT and r["task"] in CHANCE
    seen = {}
    for r in filter(graded, rows):
        for m, v in r["scores"].items():
            seen.setdefault((r["task"], m), []).append(v)
    failed = {key for key, v in seen.items() if np.mean(v) < CHANCE[key[0]]}
    for r in filter(graded, rows):
        r["scores"] = {m: v for m, v in r["scores"].items() if (r["task"], m) not in failed}
    return [r for r in rows if r["scores"]]


class Features:
    """Features of N prompts: hashes as (row, bucket, block), and the dense matrix."""

    def __init__(self, dense, row, hashes):
        self.dense, self.row, self.hashes = dense, row, hashes

    def matrix(self, buckets, blocks):
        """Returns the normalised presence of each bucket. Within a row, each block has the norm given by `blocks`."""
        n = len(self.dense)
        block = (self.hashes >> 28).astype(np.int64)
        bucket = (self.hashes & 0xFFFFFFF).astype(np.int64) * buckets >> 28
        key = np.unique((self.row * BLOCKS + block) * buckets + bucket)  # a bucket counts once in its block
        rb = key // buckets
        size = np.bincount(rb, minlength=n * BLOCKS)
        value = np.array(blocks)[rb % BLOCKS] / np.sqrt(size[rb])
        return sp.csr_matrix((value.astype(np.float32), (rb // BLOCKS, key % buckets)), shape=(n, buckets))


def features(prompts, binary):
    """Runs the Go program on the prompts."""
    text = "".join(json.dumps({"prompt": p}) + "\n" for p in prompts)
    raw = subprocess.run([binary], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    words, at = np.frombuffer(raw, "<u4"), 0
    dense, parts, counts = [], [], []
    for _ in prompts:
        n, d = int(words[at]), int(words[at + 1])
        dense.append(words[at + 2 : at + 2 + d].view("<f4"))
        parts.append(words[at + 2 + d : at + 2 + d + n])
        counts.append(n)
        at += 2 + d + n
    return Features(np.array(dense), np.repeat(np.arange(len(prompts)), counts), np.concatenate(parts))


def outcomes(rows):
    """Returns the matrix of scores (rows by models), its mask, and the names of the models."""
    models = sorted({m for r in rows for m in r["scores"]})
    index = {m: j for j, m in enumerate(models)}
    y = np.zeros((len(rows), len(models)), np.float32)
    mask = np.zeros_like(y)
    for i, r in enumerate(rows):
        for m, v in r["scores"].items():
            y[i, index[m]], mask[i, index[m]] = v, 1
    return y, mask, models


def folds(rows, n, seed):
    """Returns a fold for each row, the same for all rows of a group."""
    def of(group):
        return int(hashlib.sha256(f"{seed}/{group}".encode()).hexdigest(), 16) % n
    return np.array([of(r["group"]) for r in rows])
