"""Tests the gateway's files and batches with the official client of OpenAI."""

import json
import os
import sys

import openai

from kit import case, equal, refused, run

client = openai.OpenAI(base_url=os.environ["VENDOR_URL"], api_key=os.environ["VENDOR_KEY"], max_retries=0)
MODEL = os.environ["VENDOR_MODEL"]


def upload(model=MODEL, count=2):
    lines = [
        {"custom_id": f"request-{n}", "method": "POST", "url": "/v1/chat/completions", "body": {"model": model, "messages": [{"role": "user", "content": "Hi"}]}}
        for n in range(count)
    ]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    return client.files.create(file=("in.jsonl", content), purpose="batch")


def create(file):
    return client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"a": "b"})


@case("batch")
def batch():
    made = create(upload())
    equal(made.status, "validating", "status")
    done = client.batches.retrieve(made.id)
    equal((done.status, done.request_counts.completed), ("completed", 2), "batch")
    results = [json.loads(line) for line in client.files.content(done.output_file_id).text.splitlines()]
    equal([r["custom_id"] for r in results], ["request-0", "request-1"], "results")
    assert made.id in [b.id for b in client.batches.list(limit=1)]


@case("cancel")
def cancel():
    equal(client.batches.cancel(create(upload()).id).status, "cancelled", "status")


@case("files")
def files():
    file = upload(count=1)
    equal(client.files.retrieve(file.id).filename, "in.jsonl", "name")
    assert b"request-0" in client.files.content(file.id).read()
    assert file.id in [f.id for f in client.files.list(purpose="batch")]
    equal(client.files.delete(file.id).deleted, True, "deleted")
    refused(openai.NotFoundError, lambda: client.files.retrieve(file.id))


@case("unknown")
def unknown():
    for call in (
        lambda: client.files.retrieve("file-other"),
        lambda: client.files.content("file-other"),
        lambda: client.files.delete("file-other"),
        lambda: client.batches.retrieve("batch_other"),
        lambda: client.batches.cancel("batch_other"),
        lambda: client.batches.create(input_file_id="file-other", endpoint="/v1/chat/completions", completion_window="24h"),
    ):
        refused(openai.NotFoundError, call)


@case("refused")
def refuse():
    refused(openai.NotFoundError, lambda: upload(model="unknown"))
    refused(openai.BadRequestError, lambda: client.files.create(file=("a.txt", b"hello"), purpose="assistants"))


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
