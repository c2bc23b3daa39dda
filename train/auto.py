"""Evaluates the choices of `auto` on held-out folds and adds the results to train/metrics.json and train/MODEL_CARD.md.

    for k in 0 1 2 3 4; do python train/train.py DATA_DIR --hold-out $k --out HELD/$k; done
    python train/auto.py HELD

The prompts of a fold are decided with the artefact that was trained without them. Needs the packages of train.py.
"""
import json
import os
import subprocess
import sys

import card

HERE = os.path.dirname(os.path.abspath(__file__))


def report(folder):
    command = [
        "go", "run", "./train/evaluate", "-predictor", os.path.join(folder, "predictor.bin"), "-prices", os.path.join(HERE, "prices.csv"),
        "-names", os.path.join(HERE, "names.csv"), folder,
    ]
    return json.loads(subprocess.run(command, cwd=os.path.dirname(HERE), capture_output=True, text=True, check=True).stdout)


def mean(parts, value):
    return sum(value(p) * p["prompts"] for p in parts) / sum(p["prompts"] for p in parts)


def pools(reports):
    got = {}
    for name in [p["name"] for p in reports[0]["auto"]]:
        parts = [p for r in reports for p in r["auto"] if p["name"] == name]
        row = {"prompts": sum(p["prompts"] for p in parts), "models": max(len(p["models"]) for p in parts), "recorded": parts[0]["recorded_costs"]}
        for key in ("auto", "cheapest", "best", "random", "oracle"):
            row[key] = [round(mean(parts, lambda p: p[key]["quality"]), 4), float(f"{1000 * mean(parts, lambda p: p[key]['cost_usd']):.4g}")]
        for key in ("mix", "gain", "flips"):
            row[key] = round(mean(parts, lambda p: p[key]), 4)
        got[name] = row
    return got


def calibration(reports):
    """Returns for each source the mean absolute difference and the bias of the models, over all folds."""
    sums = {}
    for r in reports:
        for c in r["calibration"]:
            s = sums.setdefault((c["source"], c["model"]), [0, 0.0])
            s[0] += c["prompts"]
            s[1] += c["prompts"] * (c["predicted"] - c["observed"])
    got = {}
    for (source, _), (prompts, away) in sorted(sums.items()):
        got.setdefault(source, []).append(away / prompts)
    return {k: {"models": len(v), "difference": round(sum(map(abs, v)) / len(v), 4), "bias": round(sum(v) / len(v), 4)} for k, v in got.items()}


def pairs(reports):
    sums = {}
    for r in reports:
        for p in r["pairs"]:
            if not p.get("skipped"):
                s = sums.setdefault(f"{p['source']}:{p['strong']}/{p['weak']}", [0, 0.0])
                s[0] += p["prompts"]
                s[1] += p["prompts"] * p["apgr"]
    return {k: round(area / prompts, 4) for k, (prompts, area) in sums.items()}


def main():
    folder = os.path.abspath(sys.argv[1])
    reports = [report(os.path.join(folder, str(k))) for k in range(5)]
    path = os.path.join(HERE, "metrics.json")
    with open(path) as f:
        metrics = json.load(f)
    metrics["served"] = {"pools": pools(reports), "calibration": calibration(reports), "pairs": pairs(reports)}
    with open(path, "w") as f:
        json.dump(metrics, f, indent=1)
        f.write("\n")
    with open(os.path.join(HERE, "MODEL_CARD.md"), "w") as f:
        f.write(card.text(metrics))


if __name__ == "__main__":
    main()
