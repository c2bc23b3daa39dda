"""Writes the model card."""
import data

LICENCES = {
    "routellm_mmlu": "RouteLLM outcomes on MMLU, Apache-2.0", "routellm_gsm8k": "RouteLLM outcomes on GSM8K, Apache-2.0",
    "mmlu_pro": "MMLU-Pro outcomes, Apache-2.0", "zeroeval_gsm": "ZeroEval outcomes on GSM8K, Apache-2.0",
    "zeroeval_math_l5": "ZeroEval outcomes on MATH level 5, Apache-2.0", "zeroeval_mmlu_redux": "ZeroEval outcomes on MMLU-Redux, Apache-2.0",
    "zeroeval_zebra_grid": "ZeroEval outcomes on ZebraLogic grids, Apache-2.0", "llmrouter_ulab": "LLMRouter outcomes on 14 tasks, MIT",
    "bfcl": "Berkeley Function Calling Leaderboard outcomes, Apache-2.0",
}

POOLED = {"trained": "MMLU, GSM8K and BFCL", "with_judged": "these and the sources below except FLORES and AlpacaEval, whose scores are not shares of correct answers"}


def text(m):
    return "\n".join(intro(m) + sources(m) + figures(m) + out_of_family(m) + chosen() + cold(m) + calibration(m) + served(m) + limits(m)) + "\n"


def intro(m):
    return [
        "# Model card: the predictor of Fairlead", "",
        "Written by `train/train.py`; do not edit. The predictor estimates the probability that a model answers a prompt well, from the prompt",
        "alone. Hashed words, word pairs, four-byte sequences and counted features (all computed by the Go code) give",
        f"{len(data.FAMILIES)} family scores and a few difficulty scores (*lanes*) by ridge regression. Each model is a vector over these skills with",
        "a Gaussian prior learned from all models. Abilities are fitted on cross-fitted skills, so the probabilities are calibrated.",
        "One more lane, *ease*, reads the counted features only and was trained on differences within families. It applies to prompts unlike all",
        "families, in logits and equally for every model.", "",
        f"- Trained on {m['prompts']} prompts, {m['outcomes']} outcomes of {m['models']} models; seed {m['seed']}.",
        f"- Artefact: {m['artefact_bytes'] / 1e6:.2f} MB, weights of one byte.",
        "- Versions: " + ", ".join(f"{k} {v}" for k, v in m["versions"].items()) + ".", "",
    ]


def sources(m):
    lines = ["## Sources", "", "| source | prompts | licence | SHA-256 of the file |", "|---|---|---|---|"]
    for name, count in m["sources"].items():
        lines.append(f"| {name} | {count} | {LICENCES[name]} | `{m['data'][name + '.jsonl'][:16]}…` |")
    lines += ["", "Not used: outcomes of llmrouter_ulab where a model is worse than guessing on a multiple-choice task, because its grader rejects",
              "answers in another format."]
    lines += ["", "Used for evaluation only: " + ", ".join(k[:-6] for k in m["data"] if k[:-6] in data.JUDGED) + ".", ""]
    return lines


def figures(m):
    lines = [
        "## Figures", "", "Area under the recovered quality gap (APGR; random is 0.5) when prompts are ranked by the difference of the two probabilities.",
        "Five folds by group of near-duplicate questions: neither the lanes nor the abilities used for a prompt were trained on its group.",
        "",
        "| source: strong / weak | float | int8, as shipped |", "|---|---|---|",
    ]
    for k, v in m["cross_validated"].items():
        lines.append(f"| {k} | {v:.3f} | {m['cross_validated_int8'][k]:.3f} |")
    lines += refolded(m)
    return lines + ["", "GPT-4 or Mixtral, mixtures of 300 prompts of each source, mean and standard deviation over sixty draws, int8:", ""] + [
        f"- {text}: {p['mean']:.3f} ± {p['deviation']:.3f}" for key, text in POOLED.items() if (p := m["pooled"].get(key))
    ] + [""]


NAMED = ["10", "11", "12", "13", "14"]  # seeds that were fixed before their figures were computed


def refolded(m):
    """Returns the figures for other fold seeds, if refold.py has computed them."""
    if not (runs := m.get("refolded")):
        return []
    lines = [
        "", "The same figures, int8, with fold seeds that were not used to choose settings (`train/refold.py`). Figures of small sources vary with the seed.",
        f"Seeds {NAMED[0]} to {NAMED[-1]} were fixed before their figures were computed.", "",
        "| source: strong / weak | " + " | ".join(f"seed {k}" for k in runs) + f" | mean of {NAMED[0]} to {NAMED[-1]} |", "|---|" + "---|" * (len(runs) + 1),
    ]
    for k in m["cross_validated"]:
        named = [runs[seed][k] for seed in NAMED if seed in runs]
        mean = f"{sum(named) / len(named):.3f}" if named else "-"
        lines.append(f"| {k} | " + " | ".join(f"{run[k]:.3f}" for run in runs.values()) + f" | {mean} |")
    return lines


def out_of_family(m):
    lines = []
    if m.get("judged"):
        lines += ["## Sources without training data", "", "| source: strong / weak | APGR | mean known |", "|---|---|---|"]
        for k, v in m["judged"].items():
            lines.append(f"| {k} | {v:.3f} | {m['judged_known'][k.split(':')[0]]:.2f} |")
        lines += [
            f"| mean | {sum(m['judged'].values()) / len(m['judged']):.3f} | |", "",
        ]
    lines += ["## One family excluded from training", "", "| family | pairs | many pairs of models | mean known |", "|---|---|---|---|"]
    for k, v in m["leave_family_out"].items():
        pairs = "; ".join(f"{name.split(':')[0]} {a:.3f}" for name, a in v["pairs"].items()) or "-"
        lines.append(f"| {k} | {pairs} | {v['many']:.3f} | {v['known']:.2f} |")
    every = [a for v in m["leave_family_out"].values() for a in v["pairs"].values()]
    return lines + [
        "", f"Mean over all pairs {sum(every) / len(every):.3f}, minimum {min(every):.3f}. The strong model of BFCL's second pair has no other records:",
        "without BFCL it has the mean ability of all models.", "",
    ]


def chosen():
    return [
        "## How the settings were chosen", "",
        "The settings of the predictor were chosen on the trained sources only. The last four rows also used sources without training data:", "",
        "| settings | chosen by |", "|---|---|",
        "| most settings | five folds with another seed than the figures above (block weights and the weight of rows with few outcomes: both seeds) |",
        "| training targets and slope of ease, limits of `known` | excluding families, among about eighty variants, most of them on a simpler model |",
        "| MMLU lanes that also learn from MMLU-Pro, wider `known` for MMLU | folds with seeds 1 and 2 |",
        "| `lean`, the noise of means near 0 and 1, the correction by ratings | cold starts of the pairs below and of 14 to 42 other pairs, among about twenty rules |",
        "| sharing of `lean` among the lanes of one family | inspection of the predictions for a weak model |",
        "| how the gateway combines outcomes and scores | models of the catalog with both, leaving out a model or a family |",
        "| strength of models with outcomes in few families | changed once after a model of RouterBench was overestimated |",
        "| value of a percentage point in the choices of auto | the pools below, about seventy variants in a simulation and ten trade-offs with the gateway's code |",
        "| words and weights of demanding prompts | inspection of prompts; the calibration of SWE-bench was seen afterwards |",
        "",
        "Consequences:", "",
        "- The figures with an excluded family and the choices of auto are not blind, because settings were chosen by them.",
        "- The figures of small sources (puzzles, maths) vary by up to 0.04 between fold seeds, more than most settings change them.",
        "- The sources without training data were evaluated after full training runs only, more than once.",
        "- The other fold seeds were computed after the puzzles had missed 0.76 with the recorded seed.",
        "- Other penalties, further lanes and counts of houses and clues for puzzles made no significant difference.", "",
    ]


def cold(m):
    lines = [
        "## Models without recorded outcomes", "", "Both models of a pair are known by benchmark means only (by subject or kind where leaderboards publish them), with a prior learned",
        "without them. *With 100 labels* adds a correction by 100 outcomes of the source, as the gateway does with ratings: mean of five draws, each draw",
        "the same for all five folds. The prompts of these outcomes are excluded; the last column is without labels on the same prompts.", "",
        "| pair | trained | benchmark means | with 100 labels | without, same prompts |", "|---|---|---|---|---|",
    ]
    for k, v in list(m["cold_start"]["pairs"].items()) + [("mean", m["cold_start"]["mean"])]:
        if v:
            lines.append(f"| {k} | {v['trained']:.3f} | {v['cold']:.3f} | {v['cold_100_labels']:.3f} | {v['cold_same_prompts']:.3f} |")
    return lines + [""]


def calibration(m):
    lines = ["## Calibration", "", "Predictions out of fold, all outcomes of all models.", "", "| predicted | observed | outcomes |", "|---|---|---|"]
    for p, y, n in m["calibration"]["all"]["bins"]:
        lines.append(f"| {p:.3f} | {y:.3f} | {n} |")
    lines += ["", "| family | mean difference (ECE) | log loss |", "|---|---|---|"]
    for k, v in m["calibration"].items():
        lines.append(f"| {k} | {v['ece']:.3f} | {v['log_loss']:.3f} |")
    return lines + [""]


def served(m):
    """Returns the figures of the gateway's own decisions, if auto.py has computed them."""
    if not (s := m.get("served")):
        return []
    lines = [
        "## Choices of auto", "", "Decisions of the gateway at the default trade-off, out of fold, with the abilities that it serves (`train/auto.py`). Quality is the share",
        "of good responses; costs are dollars per thousand prompts, recorded ones where the source has them, otherwise list prices at the expected",
        "output. *Mix* is the best fixed mixture of models at the cost of auto. Flips: choices that a polite frame around the prompt changes, with",
        "the shipped predictor.", "",
        "| pool | prompts | models | auto | mix | gain | cheapest | best | random | oracle | flips |", "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    cell = lambda v: f"{v[0]:.3f} at {v[1]:.3g}"
    for k, p in s["pools"].items():
        lines.append(f"| {k} | {p['prompts']} | {p['models']} | {cell(p['auto'])} | {p['mix']:.3f} | {p['gain']:+.3f} | {cell(p['cheapest'])} | {cell(p['best'])} | "
                     f"{cell(p['random'])} | {cell(p['oracle'])} | {p['flips']:.0%} |")
    lines += ["", "| source | models | mean difference of predicted and observed success | bias |", "|---|---|---|---|"]
    for k, c in s["calibration"].items():
        lines.append(f"| {k} | {c['models']} | {c['difference']:.3f} | {c['bias']:+.3f} |")
    lines += ["", "| source: strong / weak | APGR as served |", "|---|---|"] + [f"| {k} | {v:.3f} |" for k, v in s["pairs"].items()]
    return lines + [""]


def limits(m):
    return [
        "## Limits", "",
        "- The prompts are single questions with verifiable answers, nearly all in English. Conversation, style, translation and agents have no",
        "  training data: such prompts get a low `known`, and their predictions move to the mean of all families.",
        "- Short texts resemble short questions: a line of noise can be assigned to a known family.",
        "- Within one family the text indicates little more than the difficulty; most of the gain comes from recognising the family.",
        "- The recorded models are from 2023 and 2024. Newer ones get their abilities from published benchmarks.",
        "- Whether an agent will solve a repository task cannot be predicted from the text.",
    ]
