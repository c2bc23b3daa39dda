package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

// batches holds the files and batches of the account. A batch ends when it is read for the first time.
type batches struct {
	mu    sync.Mutex
	files map[string]storedFile
	jobs  map[string]vendormock.Object
}

type storedFile struct {
	name, purpose string
	content       []byte
}

func (f storedFile) describe(id string) vendormock.Object {
	return vendormock.Object{"id": id, "object": "file", "bytes": len(f.content), "created_at": 1_700_000_000, "filename": f.name, "purpose": f.purpose, "status": "processed"}
}

func (b *batches) routes(s *vendormock.Server) {
	serve := func(pattern string, read func(v *vendormock.Request) any) {
		s.Mux.HandleFunc(pattern, s.Handle(func(v *vendormock.Request) {
			b.mu.Lock()
			defer b.mu.Unlock()
			answer := read(v)
			if answer == nil {
				v.Refuse(vendormock.Rejection{Status: http.StatusNotFound, Message: "No such object: " + v.HTTP.PathValue("id")})
				return
			}
			if content, ok := answer.([]byte); ok {
				v.Writer.Header().Set("Content-Type", "application/octet-stream")
				_, _ = v.Writer.Write(content)
				return
			}
			vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json", answer)
		}))
	}
	serve("POST /v1/files", b.upload)
	serve("POST /v1/batches", b.create)
	serve("GET /v1/files/{id}", func(v *vendormock.Request) any {
		id := v.HTTP.PathValue("id")
		if f, ok := b.files[id]; ok {
			return f.describe(id)
		}
		return nil
	})
	serve("GET /v1/files/{id}/content", func(v *vendormock.Request) any {
		if f, ok := b.files[v.HTTP.PathValue("id")]; ok {
			return f.content
		}
		return nil
	})
	serve("DELETE /v1/files/{id}", func(v *vendormock.Request) any {
		id := v.HTTP.PathValue("id")
		if _, ok := b.files[id]; !ok {
			return nil
		}
		delete(b.files, id)
		return vendormock.Object{"id": id, "object": "file", "deleted": true}
	})
	serve("GET /v1/batches/{id}", func(v *vendormock.Request) any { return b.end(v.HTTP.PathValue("id"), "completed") })
	serve("POST /v1/batches/{id}/cancel", func(v *vendormock.Request) any { return b.end(v.HTTP.PathValue("id"), "cancelled") })
}

// upload stores a file whose lines are requests.
func (b *batches) upload(v *vendormock.Request) any {
	v.HTTP.Body = http.MaxBytesReader(v.Writer, io.NopCloser(bytes.NewReader(v.Call.Body)), 1<<20)
	file, header, err := v.HTTP.FormFile("file")
	if err != nil || v.HTTP.FormValue("purpose") != "batch" {
		return nil
	}
	var content bytes.Buffer
	if _, err := content.ReadFrom(file); err != nil {
		return nil
	}
	id := "file-" + vendormock.Digest(content.String(), fmt.Sprint(len(b.files)))[:24]
	b.files[id] = storedFile{header.Filename, "batch", content.Bytes()}
	return b.files[id].describe(id)
}

func (b *batches) create(v *vendormock.Request) any {
	root := gjson.ParseBytes(v.Call.Body)
	input := root.Get("input_file_id").String()
	if _, ok := b.files[input]; !ok || root.Get("completion_window").String() != "24h" {
		return nil
	}
	id := "batch_" + vendormock.Digest(input, fmt.Sprint(len(b.jobs)))[:24]
	b.jobs[id] = vendormock.Object{
		"id": id, "object": "batch", "endpoint": root.Get("endpoint").String(), "input_file_id": input, "completion_window": "24h", "status": "validating",
		"output_file_id": nil, "error_file_id": nil, "created_at": 1_700_000_000, "request_counts": vendormock.Object{"total": 0, "completed": 0, "failed": 0},
	}
	return b.jobs[id]
}

// end ends a batch. Every request is answered with the same text.
func (b *batches) end(id, status string) any {
	job, ok := b.jobs[id]
	if !ok {
		return nil
	}
	if job["status"] != "validating" {
		return job
	}
	job["status"] = status
	if status == "cancelled" {
		return job
	}
	var out bytes.Buffer
	lines := strings.Split(strings.TrimSpace(string(b.files[job["input_file_id"].(string)].content)), "\n")
	for _, line := range lines {
		model := gjson.Get(line, "body.model").String()
		job["model"] = model
		text, _ := json.Marshal(vendormock.Object{
			"id": "batch_req_1", "custom_id": gjson.Get(line, "custom_id").String(), "error": nil,
			"response": vendormock.Object{"status_code": 200, "body": vendormock.Object{
				"model": model, "choices": []vendormock.Object{{"index": 0, "message": vendormock.Object{"role": "assistant", "content": "Done."}}},
				"usage": vendormock.Object{"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
			}},
		})
		out.Write(append(text, '\n'))
	}
	results := "file-" + vendormock.Digest(id)[:24]
	b.files[results] = storedFile{"output.jsonl", "batch_output", out.Bytes()}
	n := len(lines)
	job["output_file_id"] = results
	job["request_counts"] = vendormock.Object{"total": n, "completed": n, "failed": 0}
	job["usage"] = vendormock.Object{
		"input_tokens": 1000 * n, "output_tokens": 100 * n, "total_tokens": 1100 * n,
		"input_tokens_details": vendormock.Object{"cached_tokens": 0}, "output_tokens_details": vendormock.Object{"reasoning_tokens": 0},
	}
	return job
}
