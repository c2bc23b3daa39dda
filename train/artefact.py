"""Writes the predictor in the form that internal/predict reads, and applies it as the Go code does."""
import json
import struct

import numpy as np

MAGIC = b"FLPRED02"
CLIP = 4.0


class Quantised:
    """The lanes with weights of one byte each."""

    def __init__(self, router):
        d, s = router.design, router.settings
        self.router = router
        top = np.abs(router.w).max(0)  # cutting the largest would shift the prompts of a whole source
        self.scale = np.maximum(top, 1e-12) / 127
        self.table = (np.clip(np.round(router.w / self.scale), -127, 127) + 128).astype(np.uint8)
        self.scale = self.scale.astype(np.float32)
        self.dense = (router.v * d.gain / np.sqrt(len(d.mean))).astype(np.float32)
        self.offset = router.c.astype(np.float32)
        self.mean, self.std = d.mean.astype(np.float32), d.std.astype(np.float32)
        assert self.table.shape == (s["buckets"], self.lanes)

    @property
    def lanes(self):
        return len(self.offset)

    def lane_values(self, x, dense):
        u = x @ (self.table.astype(np.float32) - 128) * self.scale
        d = np.clip((dense - self.mean) / self.std, -3, 3)
        return u + d @ self.dense + self.offset

    def skills(self, x, dense):
        u = self.lane_values(x, dense)
        return np.round(self.router.skills(u), 3), np.round(self.router.known(u), 3)


def write(path, name, q, models, abilities, spreads, prior_mean, prior_cov, anchors):
    """anchors maps names to (skills, weights)."""
    r, pad = q.router, -q.lanes % 8
    wide = lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, pad)])
    f4 = lambda a: np.ascontiguousarray(a, "<f4").tobytes()
    table = np.pad(q.table, [(0, 0), (0, pad)], constant_values=128)
    rows = [np.concatenate([w[:, None], z], 1) for z, w in anchors.values()]
    sections = {
        "table": table.tobytes(), "scale": f4(wide(q.scale)), "offset": f4(wide(q.offset)), "dense": f4(wide(q.dense)),
        "dense_mean": f4(q.mean), "dense_scale": f4(q.std),
        "prior_mean": f4(prior_mean), "prior_covariance": f4(prior_cov),
        "abilities": f4(np.concatenate([spreads[:, None], abilities], 1)), "anchors": f4(np.concatenate(rows)),
    }
    at, where = 0, {}
    for key, data in sections.items():
        where[key] = {"offset": at, "length": len(data)}
        at += len(data)
    header = json.dumps({
        "name": name, "buckets": r.settings["buckets"], "lanes": q.lanes + pad, "shared": len(r.joint), "families": r.names,
        "heads": r.heads, "dense": len(q.mean), "sharpness": r.settings["sharpness"], "known": r.settings["known"], "typical": r.typical.tolist(), "clip": CLIP,
        "models": models, "anchors": [{"name": k, "count": len(w)} for k, (_, w) in anchors.items()], "sections": where,
    }, separators=(",", ":")).encode()
    with open(path, "wb") as f:
        f.write(MAGIC + struct.pack("<I", len(header)) + header + b"".join(sections.values()))
