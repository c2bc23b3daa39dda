"""Computes the cross-validated figures with other fold seeds, to show how much they vary.

    python train/refold.py DATA_DIR [--features BINARY] [--seeds 10,11,12,13,14]

Adds them to train/metrics.json and rewrites train/MODEL_CARD.md. Run train.py first.
"""
import argparse
import json
import time

import numpy as np

import card
import data
import evaluation
import protocol
from ridge import Design
from router import SETTINGS, Lanes
from train import build_features, path_of, say


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--features", help="path of a built train/features (default: build it with go)")
    p.add_argument("--seeds", default="10,11,12,13,14", help="fold seeds that were not used to choose settings")
    args, start = p.parse_args(), time.time()
    rows, _ = data.read(args.data, set(data.TRAINED))
    features = data.features([r["prompt"] for r in rows], args.features or build_features())
    design = Design(features.matrix(SETTINGS["buckets"], SETTINGS["blocks"]), features.dense, SETTINGS["gain"])
    s = evaluation.Set(rows)
    with open(path_of("train/metrics.json")) as f:
        metrics = json.load(f)
    refolded = metrics.setdefault("refolded", {})  # earlier results are kept
    refolded[str(metrics["seed"])] = metrics["cross_validated_int8"]
    for seed in args.seeds.split(","):
        refolded[seed] = take(s, design, data.folds(s.rows, SETTINGS["folds"], int(seed)))
        say(start, f"seed {seed}: " + json.dumps(refolded[seed]))
    with open(path_of("train/metrics.json"), "w") as f:
        json.dump(metrics, f, indent=1)
        f.write("\n")
    with open(path_of("train/MODEL_CARD.md"), "w") as f:
        f.write(card.text(metrics))


def take(s, design, fold):
    lanes = Lanes(data.FAMILIES, SETTINGS).learn(design, s.rows, s.y, s.mask, s.family, fold)
    z, z8 = lanes.skills(lanes.inner), np.round(lanes.skills(lanes.inner8), 3)
    _, out8, _ = evaluation.cross_validate(s, z, fold, SETTINGS, lanes.lean(), z8)
    return evaluation.figures(s.table(out8), protocol.PAIRS)


if __name__ == "__main__":
    main()
