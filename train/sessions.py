"""Writes recorded tool loops as tasks for train/evaluate: the first request, and outcome and cost of the whole loop by model.

    python train/sessions.py tau2.jsonl.xz mint.jsonl.xz > sessions.jsonl

Costs that were not recorded are computed from the recorded tokens and train/prices.csv.
"""
import collections
import csv
import json
import lzma
import os
import sys


def rates():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.csv")) as f:
        return {r["model"]: (float(r["input_usd_per_mtok"]), float(r["output_usd_per_mtok"])) for r in csv.DictReader(f)}


def first_request(messages):
    """Returns the messages up to the first one of the user."""
    for i, m in enumerate(messages):
        if m["role"] == "user":
            return messages[: i + 1]
    return messages[:1]


def main():
    prices, tasks = rates(), {}
    for path in sys.argv[1:]:
        with lzma.open(path, "rt") as f:
            for run in map(json.loads, f):
                if run["agent"] not in ("llm_agent", "langchain_agent", "mint") or run["source"] == "tau2" and "/airline/" not in run["task_id"]:
                    continue  # other harnesses and tasks have few models in common
                tokens, price = run["tokens"] or {}, prices.get(run["model"])
                cost = run["cost"] or None
                if cost is None and price and tokens.get("in"):
                    cost = (tokens["in"] * price[0] + tokens["out"] * price[1]) / 1e6
                if cost is None:
                    continue
                task = tasks.setdefault(run["task_id"], {
                    "id": run["task_id"], "source": run["source"], "task": run.get("task", ""), "group": run["group"], "messages": first_request(run["messages"]),
                    "tools": [{"type": "function", "function": {**t, "parameters": {"type": "object"}}} for t in run["tools"]], "runs": collections.defaultdict(list),
                })
                task["runs"][run["model"]].append((run["outcome"], cost))
    for task in tasks.values():
        for key, i in (("scores", 0), ("costs", 1)):
            task[key] = {m: sum(r[i] for r in runs) / len(runs) for m, runs in task["runs"].items()}
        del task["runs"]
        print(json.dumps(task))


if __name__ == "__main__":
    main()
