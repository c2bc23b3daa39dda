"""Writes the predictor in the format that internal/predict reads, and applies it like the Go code."""
import json
import struct

import numpy as np

MAGIC = b"FLPRED04"
CLIP = 4.0


def quantise(w):
    """Returns weights as bytes with an offset of 128, and the scale of each lane. Clipping the largest weights would shift whole sources."""
    scale = (np.maximum(np.abs(w).max(0), 1e-12) / 127).astype(np.float32)
    return (np.clip(np.round(w / scale), -127, 127) + 128).astype(np.uint8), scale


class Quantised:
    """Lanes with one-byte weights."""

    def __init__(self, lanes):
        d = lanes.design
        self.lanes = lanes
        self.table, self.scale = quantise(lanes.w)
        self.dense = (lanes.v * d.gain / np.sqrt(len(d.mean))).astype(np.float32)
        self.offset = lanes.c.astype(np.float32)
        self.mean, self.std = d.mean.astype(np.float32), d.std.astype(np.float32)

    def values(self, x, dense):
        u = x @ (self.table.astype(np.float32) - 128) * self.scale
        return u + np.clip((dense - self.mean) / self.std, -3, 3) @ self.dense + self.offset


def write(path, name, q, models, abilities, spreads, records, prior_mean, prior_cov, anchors):
    """Writes the artefact. `records` is the number of outcomes of each model by family; `anchors` maps names to (skills, weights)."""
    r, pad = q.lanes, -len(q.offset) % 8
    wide = lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, pad)])
    f4 = lambda a: np.ascontiguousarray(a, "<f4").tobytes()
    table = np.pad(q.table, [(0, 0), (0, pad)], constant_values=128)
    rows = [np.concatenate([w[:, None], z], 1) for z, w in anchors.values()]
    sections = {
        "table": table.tobytes(), "scale": f4(wide(q.scale)), "offset": f4(wide(q.offset)), "dense": f4(wide(q.dense)),
        "dense_mean": f4(q.mean), "dense_scale": f4(q.std),
        "prior_mean": f4(prior_mean), "prior_covariance": f4(prior_cov),
        "abilities": f4(np.concatenate([spreads[:, None], abilities], 1)), "anchors": f4(np.concatenate(rows)),
        "records": f4(records),
    }
    at, where = 0, {}
    for key, data in sections.items():
        where[key] = {"offset": at, "length": len(data)}
        at += len(data)
    header = json.dumps({
        "name": name, "buckets": r.settings["buckets"], "blocks": r.settings["blocks"], "lanes": len(q.offset) + pad, "shared": len(r.joint), "families": r.names,
        "heads": r.heads, "dense": len(q.mean), "sharpness": r.settings["sharpness"], "known": r.settings["known"], "typical": r.typical.tolist(), "clip": CLIP,
        "models": models, "anchors": [{"name": k, "count": len(w)} for k, (_, w) in anchors.items()], "sections": where,
    }, separators=(",", ":")).encode()
    with open(path, "wb") as f:
        f.write(MAGIC + struct.pack("<I", len(header)) + header + b"".join(sections.values()))
