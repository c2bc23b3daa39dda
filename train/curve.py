"""Draws the cost-quality curve of the router and of single models: docs/images/cost-quality.svg.

    python train/curve.py DATA_DIR FAIRLEAD [OUT.svg]

DATA_DIR as for train.py; FAIRLEAD is the built binary. The predictor knows the models by their benchmark means only, like new
models, and the sources drawn are not training data. Needs numpy only.
"""
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SOURCES = ["routerbench_arc", "routerbench_mbpp", "routerbench_winogrande"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 440, 64, 56, 24, 24


def rows_of(folder):
    rows = []
    for source in SOURCES:
        for line in open(pathlib.Path(folder) / f"{source}.jsonl"):
            row = json.loads(line)
            if row.get("costs"):
                rows.append(row)
    most = max(len(r["costs"].keys() & r["scores"].keys()) for r in rows)
    return [r for r in rows if len(r["costs"].keys() & r["scores"].keys()) == most]


def predict(rows, models, binary):
    means = collections.defaultdict(list)
    for r in rows:
        for m in models:
            means[m, r["source"].removeprefix("routerbench_")].append(r["scores"][m])
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "benchmark", "value"])
        table.writerows([m, b, f"{np.mean(v):.4f}"] for (m, b), v in sorted(means.items()))
        file.flush()
        lines = "".join(json.dumps({"id": r["id"], "prompt": r["prompt"]}) + "\n" for r in rows)
        out = subprocess.run([binary, "router", "score", "--abilities", file.name], input=lines, capture_output=True, text=True, check=True)
    return np.array([[json.loads(line)["scores"][m] for m in models] for line in out.stdout.splitlines()])


def hull(points):
    best = []
    for p in sorted(set(points)):
        if best and p[1] <= best[-1][1]:
            continue
        while len(best) > 1 and (best[-1][1] - best[-2][1]) * (p[0] - best[-2][0]) <= (p[1] - best[-2][1]) * (best[-1][0] - best[-2][0]):
            best.pop()
        best.append(p)
    return best


def sweep(value, price, quality, cost):
    """Returns mean cost and quality of choosing the maximum of weight * value - price, for weights from 0 to very large."""
    at = np.arange(len(value))
    points = []
    for weight in np.concatenate([[0], np.logspace(-6, 4, 300)]):
        pick = np.argmax(weight * value - price, 1)
        points.append((float(cost[at, pick].mean()), float(quality[at, pick].mean())))
    return hull(points)


def mixed(points, steps=40):
    """Returns points between neighbours, which a mixture of both reaches: a straight line in dollars, a curve on the log axis."""
    line = []
    for (c0, q0), (c1, q1) in zip(points, points[1:]):
        line += [(c0 + (c1 - c0) * s / steps, q0 + (q1 - q0) * s / steps) for s in range(steps)]
    return line + points[-1:]


def draw(singles, names, router):
    cents = [c for c, _ in singles + router]
    x0, x1 = np.log(min(cents)), np.log(max(cents))
    y0, y1 = min(q for _, q in singles) - 0.03, max(q for _, q in singles + router) + 0.05
    x = lambda c: LEFT + (np.log(max(c, min(cents))) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
    y = lambda q: HEIGHT - BOTTOM - (q - y0) / (y1 - y0) * (HEIGHT - BOTTOM - TOP)
    path = lambda points: " ".join(f"{x(c):.1f},{y(q):.1f}" for c, q in points)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for q in np.arange(np.ceil(y0 * 20) / 20, y1, 0.05):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(q):.1f}" y2="{y(q):.1f}" stroke="#e5e7eb"/>'
                   f'<text x="{LEFT - 8}" y="{y(q) + 4:.1f}" text-anchor="end" fill="#4b5563">{q:.0%}</text>')
    for exponent in range(int(np.floor(x0 / np.log(10))), int(np.ceil(x1 / np.log(10))) + 1):
        for digit in (1, 3):
            c = digit * 10.0**exponent
            if min(cents) <= c <= max(cents):
                out.append(f'<text x="{x(c):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#4b5563">${1000 * c:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle" fill="#111827">mean cost of a thousand prompts</text>')
    out.append(f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" fill="#111827" transform="rotate(-90 16 {HEIGHT / 2})">answered right</text>')
    out.append(f'<polyline points="{path(mixed(hull(singles)))}" fill="none" stroke="#9ca3af" stroke-width="2" stroke-dasharray="5 4"/>')
    out.append(f'<polyline points="{path(mixed(router))}" fill="none" stroke="#0f766e" stroke-width="3"/>')
    named = []
    for (c, q), name in sorted(zip(singles, names), key=lambda one: -one[0][1]):
        out.append(f'<circle cx="{x(c):.1f}" cy="{y(q):.1f}" r="4" fill="#6b7280"/>')
        anchor, shift = ("end", -8) if x(c) > WIDTH * 0.8 else ("start", 8)
        if any(abs(x(c) - a) < 140 and abs(y(q) - b) < 16 for a, b in named):
            continue  # the label would overlap another one
        named.append((x(c), y(q)))
        out.append(f'<text x="{x(c) + shift:.1f}" y="{y(q) + 16:.1f}" text-anchor="{anchor}" fill="#6b7280" font-size="11">{name}</text>')
    for i, (color, dash, text) in enumerate([("#0f766e", "", "auto, by trade-off"), ("#9ca3af", "5 4", "the best that fixed models can do")]):
        top = TOP + 14 + 18 * i
        out.append(f'<line x1="{LEFT + 12}" x2="{LEFT + 40}" y1="{top - 4}" y2="{top - 4}" stroke="{color}" stroke-width="3" stroke-dasharray="{dash}"/>'
                   f'<text x="{LEFT + 48}" y="{top}" fill="#111827">{text}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    folder, binary = sys.argv[1:3]
    target = sys.argv[3] if len(sys.argv) > 3 else "docs/images/cost-quality.svg"
    rows = rows_of(folder)
    models = sorted(set.intersection(*[r["costs"].keys() & r["scores"].keys() for r in rows]))
    quality, cost = (np.array([[r[part][m] for m in models] for r in rows]) for part in ("scores", "costs"))
    guess = predict(rows, models, binary)
    singles = [(float(cost[:, k].mean()), float(quality[:, k].mean())) for k in range(len(models))]
    router = sweep(guess, np.tile(cost.mean(0), (len(rows), 1)), quality, cost)
    pathlib.Path(target).write_text(draw(singles, models, router))
    print(f"{len(rows)} prompts, {len(models)} models, {len(router)} points of the router: {target}")


if __name__ == "__main__":
    main()
