package simulator

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// account holds the files and batches that clients created. A batch ends when it is read for the first time.
type account struct {
	mu    sync.Mutex
	files map[string]storedFile
	jobs  map[string]Object
}

type storedFile struct {
	name, purpose string
	content       []byte
}

func (f storedFile) describe(id string) Object {
	return Object{"id": id, "object": "file", "bytes": len(f.content), "created_at": created, "filename": f.name, "purpose": f.purpose, "status": "processed"}
}

// serves reports whether a request is for files or batches.
func (a *account) serves(call *Call) bool {
	return strings.HasPrefix(call.Path, "/v1/files") || strings.HasPrefix(call.Path, "/v1/batches")
}

func (a *account) serve(w http.ResponseWriter, r *http.Request, call *Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kind, rest, _ := strings.Cut(strings.TrimPrefix(call.Path, "/v1/"), "/")
	id, action, _ := strings.Cut(rest, "/")
	file, found := a.files[id]
	var answer Object
	switch {
	case kind == "files" && r.Method == http.MethodPost:
		answer = a.upload(w, r, call)
	case kind == "batches" && r.Method == http.MethodPost && id == "":
		answer = a.createBatch(call)
	case kind == "batches":
		answer = a.endBatch(id, map[bool]string{false: "completed", true: "cancelled"}[action == "cancel"])
	case !found:
	case r.Method == http.MethodDelete:
		delete(a.files, id)
		answer = Object{"id": id, "object": "file", "deleted": true}
	case action == "content":
		writeBody(w, http.StatusOK, "application/octet-stream", file.content)
		return
	default:
		answer = file.describe(id)
	}
	if answer == nil {
		writeBody(w, http.StatusNotFound, "application/json", Encode(openAIError(http.StatusNotFound, "No such object: "+id, "")))
		return
	}
	writeBody(w, http.StatusOK, "application/json", Encode(answer))
}

func (a *account) upload(w http.ResponseWriter, r *http.Request, call *Call) Object {
	r.Body = http.MaxBytesReader(w, io.NopCloser(bytes.NewReader(call.Body)), 1<<20)
	file, header, err := r.FormFile("file")
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil
	}
	id := "file-" + Digest(string(content), strconv.Itoa(len(a.files)))
	a.files[id] = storedFile{header.Filename, r.FormValue("purpose"), content}
	return a.files[id].describe(id)
}

func (a *account) createBatch(call *Call) Object {
	root := call.document()
	input := root.get("input_file_id").text()
	if _, ok := a.files[input]; !ok {
		return nil
	}
	id := "batch_" + Digest(input, strconv.Itoa(len(a.jobs)))
	a.jobs[id] = Object{
		"id": id, "object": "batch", "endpoint": root.get("endpoint").text(), "input_file_id": input, "completion_window": "24h", "status": "validating",
		"output_file_id": nil, "error_file_id": nil, "created_at": created, "request_counts": Object{"total": 0, "completed": 0, "failed": 0},
	}
	return a.jobs[id]
}

// endBatch ends a batch. Every request gets the same text.
func (a *account) endBatch(id, status string) Object {
	job := a.jobs[id]
	if job == nil || job["status"] != "validating" {
		return job
	}
	job["status"] = status
	if status == "cancelled" {
		return job
	}
	var out bytes.Buffer
	lines := bytes.Split(bytes.TrimSpace(a.files[job["input_file_id"].(string)].content), []byte("\n"))
	for _, line := range lines {
		request := parseNode(line)
		job["model"] = request.get("body", "model").text()
		out.Write(append(Encode(Object{
			"id": "batch_req_1", "custom_id": request.get("custom_id").text(), "error": nil,
			"response": Object{"status_code": http.StatusOK, "body": Object{
				"model": job["model"], "choices": []Object{{"index": 0, "message": Object{"role": "assistant", "content": "Done."}}},
				"usage": Object{"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
			}},
		}), '\n'))
	}
	results, n := "file-"+Digest(id), len(lines)
	a.files[results] = storedFile{"output.jsonl", "batch_output", out.Bytes()}
	job["output_file_id"], job["request_counts"] = results, Object{"total": n, "completed": n, "failed": 0}
	job["usage"] = Object{
		"input_tokens": 1000 * n, "output_tokens": 100 * n, "total_tokens": 1100 * n,
		"input_tokens_details": Object{"cached_tokens": 0}, "output_tokens_details": Object{"reasoning_tokens": 0},
	}
	return job
}
