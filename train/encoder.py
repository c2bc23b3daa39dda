"""Measures what a fine-tuned text encoder predicts, for docs/decisions/predictor.md. Its result is not shipped.

    python train/encoder.py DATA_DIR MODEL_DIR > predictions.jsonl

MODEL_DIR holds a BERT model with its tokenizer, such as all-MiniLM-L6-v2. Needs a GPU, PyTorch and Transformers. Unlike train.py it also
trains on the sources for evaluation, so that the figures are a limit for encoders of this size: every prompt is predicted by a network that
was trained on other prompts of the same source.
"""
import json
import os
import sys

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

import data

HEAD, TAIL = 160, 96  # tokens of a long prompt that are read
SKILLS, BATCH, EPOCHS, FOLDS, SEED = 24, 128, 4, 5, 0


class Network(torch.nn.Module):
    """Success of every model: ability times skills of the prompt, plus the level of the model in the source."""

    def __init__(self, folder, sources, models):
        super().__init__()
        self.text = BertModel.from_pretrained(folder, add_pooling_layer=False)
        self.skills = torch.nn.Linear(self.text.config.hidden_size, SKILLS)
        self.abilities = torch.nn.Parameter(torch.randn(models, SKILLS) * 0.05)
        self.level = torch.nn.Parameter(torch.zeros(models))
        self.in_source = torch.nn.Parameter(torch.zeros(sources, models))

    def forward(self, ids, mask, source):
        hidden = self.text(input_ids=ids, attention_mask=mask).last_hidden_state * mask[:, :, None]
        z = self.skills(torch.nn.functional.dropout(hidden.sum(1) / mask.sum(1, keepdim=True), 0.1, self.training))
        return z @ self.abilities.T + self.level + self.in_source[source]


class Prompts:
    """Tokens, sources and outcomes of all prompts, on the GPU."""

    def __init__(self, rows, folder):
        encoded = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode_batch([r["prompt"][:20_000] for r in rows])
        ids, mask = np.zeros((len(rows), HEAD + TAIL), np.int64), np.zeros((len(rows), HEAD + TAIL), np.int64)
        for i, e in enumerate(encoded):
            tokens = e.ids if len(e.ids) <= HEAD + TAIL else e.ids[:HEAD] + e.ids[-TAIL:]
            ids[i, : len(tokens)], mask[i, : len(tokens)] = tokens, 1
        sources = sorted({r["source"] for r in rows})
        source = np.array([sources.index(r["source"]) for r in rows])
        scores, known, self.models = data.outcomes(rows)
        self.sources = len(sources)
        self.ids, self.mask, self.source, self.scores, self.known = (torch.tensor(a, device="cuda") for a in (ids, mask, source, scores, known))

    def predict(self, network, rows):
        longest = int(self.mask[rows].sum(1).max())
        with torch.autocast("cuda", torch.bfloat16):
            return network(self.ids[rows, :longest], self.mask[rows, :longest], self.source[rows]).float()


def train(prompts, folder, rows):
    torch.manual_seed(SEED)
    network = Network(folder, prompts.sources, len(prompts.models)).cuda().train()
    heads = [network.skills.weight, network.skills.bias, network.abilities, network.level]
    optimiser = torch.optim.AdamW([
        {"params": network.text.parameters(), "lr": 1e-4}, {"params": heads, "lr": 2e-3},
        {"params": [network.in_source], "lr": 5e-3, "weight_decay": 0.05},
    ])
    steps = EPOCHS * (len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [1e-4, 2e-3, 5e-3], total_steps=steps, pct_start=0.1, anneal_strategy="linear")
    order = np.random.default_rng(SEED)
    for _ in range(EPOCHS):
        shuffled = order.permutation(rows)
        for at in range(0, len(rows) // BATCH * BATCH, BATCH):
            batch = torch.tensor(shuffled[at : at + BATCH], device="cuda")
            loss = torch.nn.functional.binary_cross_entropy_with_logits(prompts.predict(network, batch), prompts.scores[batch], reduction="none")
            known = prompts.known[batch]
            count = known.sum(1)
            optimiser.zero_grad()
            ((loss * known).sum(1) / count * count.clamp(max=12).sqrt()).mean().backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return network.eval()


def main():
    folder = sys.argv[2]
    rows, _ = data.read(sys.argv[1], set(data.TRAINED) | set(data.JUDGED))
    prompts = Prompts(rows, folder)
    fold = data.folds(rows, FOLDS, SEED)
    for k in range(FOLDS):
        network = train(prompts, folder, np.flatnonzero(fold != k))
        for held in np.array_split(np.flatnonzero(fold == k), 64):
            with torch.no_grad():
                success = torch.sigmoid(prompts.predict(network, torch.tensor(held, device="cuda"))).cpu().numpy()
            for i, values in zip(held, success):
                known = {m: round(float(v), 4) for m, v in zip(prompts.models, values) if m in rows[i]["scores"]}
                print(json.dumps({"id": rows[i]["id"], "scores": known}))
        print(f"fold {k}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
