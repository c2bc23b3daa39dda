"""Trains the predictor that Fairlead ships.

    python train/train.py DATA_DIR [--features BINARY] [--predictions FILE] [--sample SHARE] [--only-artefact]
    python train/train.py DATA_DIR --hold-out FOLD --out DIR

DATA_DIR holds one JSON-lines file per source. Writes internal/predict/data/predictor.bin, the golden vectors of its tests,
train/metrics.json and train/MODEL_CARD.md. With --hold-out it writes to DIR an artefact trained without one fold, and the prompts of
that fold, for `go run ./train/evaluate -predictor`.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy

import artefact
import card
import data
import evaluation
import golden
import protocol
from ability import Prior, with_one
from ridge import Design, xp
from router import SETTINGS, Lanes

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SEED = 0


def main():
    args = arguments()
    start = time.time()
    rows, digests = data.read(args.data, set(data.TRAINED) | set(data.JUDGED))
    if args.sample < 1:
        rng = np.random.RandomState(SEED)
        rows = [r for r in rows if rng.rand() < args.sample]
    binary = args.features or build_features()
    if args.hold_out is not None:
        rows = hold_out(rows, args.hold_out, args.out)
    trained, judged = [r for r in rows if r["family"]], [r for r in rows if not r["family"]]
    features = data.features([r["prompt"] for r in trained], binary)
    design = Design(features.matrix(SETTINGS["buckets"], SETTINGS["blocks"]), features.dense, SETTINGS["gain"])
    s = evaluation.Set(trained)
    fold = data.folds(s.rows, SETTINGS["folds"], SEED)
    say(start, f"{len(trained)} training prompts, {len(judged)} evaluation prompts, {len(s.models)} models")

    lanes = Lanes(data.FAMILIES, SETTINGS).learn(design, s.rows, s.y, s.mask, s.family, fold)
    say(start, "lanes trained")
    z = np.round(lanes.skills(lanes.inner8), 3)
    able, prior = Prior(z, s.y, s.mask, **SETTINGS["abilities"]), Prior(z, s.y, s.mask, lanes.lean(), **SETTINGS["prior"])
    q = artefact.Quantised(lanes)
    ship(path_of("internal/predict/data/predictor.bin") if args.hold_out is None else os.path.join(args.out, "predictor.bin"), q, s, z, able, prior)
    if args.hold_out is not None:
        return
    write_golden(q, binary)
    say(start, "artefact written")
    if args.only_artefact:
        return
    metrics = evaluate(args, start, design, s, lanes, z, fold, able, q, judged, binary)
    metrics |= {
        "seed": SEED, "data": digests, "settings": SETTINGS, "prompts": len(trained), "models": len(s.models),
        "outcomes": int(s.mask.sum()), "sources": {k: int(v) for k, v in zip(*np.unique(s.source, return_counts=True))},
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__, "arrays": xp.__name__},
        "artefact_bytes": os.path.getsize(path_of("internal/predict/data/predictor.bin")),
    }
    with open(path_of("train/metrics.json"), "w") as f:
        json.dump(metrics, f, indent=1)
        f.write("\n")
    with open(path_of("train/MODEL_CARD.md"), "w") as f:
        f.write(card.text(metrics))
    say(start, "done")


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--features", help="path of a built train/features (default: build it with go)")
    p.add_argument("--predictions", help="write the predictions out of fold to this file, one JSON object per line")
    p.add_argument("--sample", type=float, default=1.0, help="use this share of the rows, to test the scripts")
    p.add_argument("--only-artefact", action="store_true")
    p.add_argument("--hold-out", type=int, help="train without this fold (0 to 4)")
    p.add_argument("--out", help="folder for the artefact and the prompts of --hold-out")
    return p.parse_args()


def path_of(name):
    path = os.path.join(ROOT, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def say(start, text):
    print(f"{time.time() - start:7.1f} s  {text}", file=sys.stderr, flush=True)


def build_features():
    binary = os.path.join(tempfile.mkdtemp(), "features")
    subprocess.run(["go", "build", "-o", binary, "./train/features"], cwd=ROOT, check=True)
    return binary


def hold_out(rows, fold, folder):
    """Writes the rows of a fold to the folder, one file per source. Returns the rows of the other folds."""
    os.makedirs(folder, exist_ok=True)
    held = data.folds(rows, SETTINGS["folds"], SEED) == fold
    files = {}
    for r in (r for r, out in zip(rows, held) if out):
        files.setdefault(r["source"], []).append(json.dumps(r) + "\n")
    for source, lines in files.items():
        with open(os.path.join(folder, source + ".jsonl"), "w") as f:
            f.writelines(lines)
    return [r for r, out in zip(rows, held) if not out]


def ship(path, q, s, z, able, prior):
    """Writes the artefact: lanes, abilities with their spread and number of outcomes, the prior and the anchors."""
    general = with_one(z[np.random.default_rng(SEED).choice(len(z), min(400, len(z)), replace=False)])
    spread = np.sqrt(np.einsum("ik,mkl,il->m", general, able.c, general, optimize=True) / len(general))
    artefact.write(
        path, "skills-2", q, s.models, able.a, spread, s.records(), prior.mean, prior.cov, anchors(s, z, able.a),
    )


def anchors(s, z, abilities):
    """Returns typical prompts of each benchmark: sorted by difficulty, one from each slice."""
    level = evaluation.probability(z, abilities).mean(1)
    names = {}
    for i, r in enumerate(s.rows):
        for name in benchmark_names(r):
            names.setdefault(name, []).append(i)
    got = {}
    for name in sorted(names):
        pick = evaluation.slices(np.array(names[name]), level, 24 if "/" in name else 48)
        got[name] = z[pick], np.full(len(pick), 1 / len(pick))
    return got


def benchmark_names(r):
    fixed = {
        "routellm_mmlu": ["mmlu"], "zeroeval_mmlu_redux": ["mmlu_redux"], "routellm_gsm8k": ["gsm8k"], "zeroeval_gsm": ["gsm8k"],
        "zeroeval_math_l5": ["math_l5"], "zeroeval_zebra_grid": ["zebra_grid"],
        "mmlu_pro": ["mmlu_pro", "mmlu_pro/" + r["task"].replace(" ", "_")], "bfcl": ["bfcl", "bfcl/" + r["task"]],
    }
    other = {"agentverse-mgsm": "mgsm", "agentverse-logicgrid": "logicgrid", "mmlu": "mmlu_open", "gsm8k": "gsm8k"}
    return fixed.get(r["source"]) or [other.get(r["task"], r["task"])]


def apply(q, prompts, binary):
    """Returns skills and familiarity of prompts, computed like the Go code."""
    f = data.features(prompts, binary)
    u = q.values(f.matrix(SETTINGS["buckets"], SETTINGS["blocks"]), f.dense)
    return np.round(q.lanes.skills(u), 3), np.round(q.lanes.known(u), 3)


def write_golden(q, binary):
    cases = [{"text": t, "skills": z.tolist(), "known": float(k)} for t, z, k in zip(golden.TEXTS, *apply(q, golden.TEXTS, binary))]
    with open(path_of("internal/predict/testdata/golden.json"), "w") as out:
        json.dump(cases, out, ensure_ascii=False, indent=1)
        out.write("\n")


def evaluate(args, start, design, s, lanes, z8, fold, able, q, judged, binary):
    z = lanes.skills(lanes.inner)
    out, out8, priors = evaluation.cross_validate(s, z, fold, SETTINGS, lanes.lean(), z8)
    metrics = {
        "cross_validated": evaluation.figures(s.table(out), protocol.PAIRS), "cross_validated_int8": evaluation.figures(s.table(out8), protocol.PAIRS),
        "calibration": evaluation.calibration(s, out8),
    }
    say(start, json.dumps(metrics["cross_validated"]))
    say(start, "int8 " + json.dumps(metrics["cross_validated_int8"]))
    metrics["cold_start"] = evaluation.cold_figures(s, z, priors, out)
    say(start, "cold " + json.dumps(metrics["cold_start"]))
    parts = s.table(out8).first_pair(protocol.PAIRS)
    metrics["pooled"] = {"trained": protocol.pooled(parts)}
    predictions = {r["id"]: c for r, c in zip(s.rows, out8)}
    if judged:
        metrics["judged"], metrics["judged_known"], table = evaluation.judge(s, judged, *apply(q, [r["prompt"] for r in judged], binary), able.a)
        say(start, "judged " + json.dumps(metrics["judged"]) + json.dumps(metrics["judged_known"]))
        predictions |= {r["id"]: c for r, c in zip(judged, table.probability)}
        metrics["pooled"]["with_judged"] = protocol.pooled(parts + table.first_pair(protocol.JUDGED_PAIRS))
    if args.predictions:
        save(args.predictions, s, predictions)
    metrics["leave_family_out"] = evaluation.leave_family_out(design, s, lanes)
    say(start, "excluded " + json.dumps(metrics["leave_family_out"]))
    return metrics


def save(path, s, predictions):
    wanted = sorted({m for _, *pair in protocol.PAIRS + protocol.JUDGED_PAIRS for m in pair if m in s.index})
    with open(path, "w") as f:
        for key, c in predictions.items():
            f.write(json.dumps({"id": key, "scores": {m: round(float(c[s.index[m]]), 5) for m in wanted}}) + "\n")


if __name__ == "__main__":
    main()
