package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// fakeObjects keeps objects in memory. If failing is set, adding an object returns failing. If stopped is set, the end of a settlement
// returns stopped.
type fakeObjects struct {
	mu               sync.Mutex
	list             []batch.Object
	began            map[string]time.Time
	failing, stopped error
}

func (f *fakeObjects) index(workspaceID string, kind batch.Kind, id string) int {
	return slices.IndexFunc(f.list, func(o batch.Object) bool { return o.WorkspaceID == workspaceID && o.Kind == kind && o.ID == id })
}

func (f *fakeObjects) AddObject(_ context.Context, o batch.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil && f.index(o.WorkspaceID, o.Kind, o.ID) < 0 {
		f.list = append(f.list, o)
	}
	return f.failing
}

func (f *fakeObjects) Object(_ context.Context, workspaceID string, kind batch.Kind, id string) (batch.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.index(workspaceID, kind, id); i >= 0 {
		return f.list[i], nil
	}
	return batch.Object{}, batch.ErrNotFound
}

func (f *fakeObjects) FileOwners(_ context.Context, ids []string) (list []batch.Owner, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.list {
		if o.Kind == batch.File && slices.Contains(ids, o.ID) {
			list = append(list, batch.Owner{WorkspaceID: o.WorkspaceID, ID: o.ID, Provider: o.Provider, Credential: o.Credential})
		}
	}
	return list, nil
}

func (f *fakeObjects) Objects(_ context.Context, workspaceID string, kind batch.Kind, after string, limit int) (list []batch.Object, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after != "" && f.index(workspaceID, kind, after) < 0 {
		return nil, batch.ErrNotFound
	}
	for _, o := range slices.Backward(f.list) {
		if o.WorkspaceID == workspaceID && o.Kind == kind && after == "" && len(list) < limit {
			list = append(list, o)
		}
		if o.ID == after {
			after = ""
		}
	}
	return list, nil
}

func (f *fakeObjects) UnsettledBatches(context.Context) (list []batch.Object, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.list {
		if o.Kind == batch.Batch && !o.Settled {
			list = append(list, o)
		}
	}
	return list, nil
}

func (f *fakeObjects) SaveObject(_ context.Context, o batch.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.index(o.WorkspaceID, o.Kind, o.ID); i >= 0 {
		f.list[i].Data = o.Data
	}
	return nil
}

func (f *fakeObjects) RemoveObject(_ context.Context, o batch.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.index(o.WorkspaceID, o.Kind, o.ID); i >= 0 {
		f.list = slices.Delete(f.list, i, i+1)
	}
	return nil
}

func (f *fakeObjects) SettleObject(_ context.Context, o batch.Object, at time.Time) (began time.Time, first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.index(o.WorkspaceID, o.Kind, o.ID)
	switch {
	case i < 0 || f.list[i].Settled:
		return time.Time{}, false, nil
	case !at.IsZero():
		if _, ok := f.began[o.ID]; !ok {
			if f.began == nil {
				f.began = map[string]time.Time{}
			}
			f.began[o.ID] = at.Truncate(time.Millisecond)
		}
		return f.began[o.ID], true, nil
	case f.stopped != nil:
		return time.Time{}, false, f.stopped
	}
	f.list[i].Settled = true
	return time.Time{}, true, nil
}

// batchVendor is a provider account with files and batches. All workspaces share it. ended holds the JSON members of every
// batch except the id and the object type.
type batchVendor struct {
	mu      sync.Mutex
	files   map[string]string
	batches map[string]bool
	ended   string
	calls   []string
}

func (v *batchVendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/files":
		file, header, err := r.FormFile("file")
		if err != nil || r.FormValue("purpose") != "batch" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		content, _ := io.ReadAll(file)
		id := fmt.Sprintf("file-%d", len(v.files))
		v.files[id] = string(content)
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"file","purpose":"batch","filename":%q,"future":[1.0]}`, id, header.Filename)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/batches":
		body, _ := io.ReadAll(r.Body)
		id := fmt.Sprintf("batch_%d", len(v.batches))
		v.batches[id] = true
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"batch","status":"validating","input_file_id":%q}`, id, rawjson.Get(body, "input_file_id").String())
	case segments[0] == "batches" && v.batches[segments[1]]:
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"batch",%s}`, segments[1], v.ended)
	case segments[0] == "files" && v.files[segments[1]] != "" && len(segments) == 3:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, v.files[segments[1]])
	case segments[0] == "files" && v.files[segments[1]] != "" && r.Method == http.MethodDelete:
		delete(v.files, segments[1])
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"file","deleted":true}`, segments[1])
	case segments[0] == "files" && v.files[segments[1]] != "":
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"file"}`, segments[1])
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"No such object"}}`)
	}
}

// batchKit returns a gateway with one provider that offers batches. Its model large has a batch price, small has none.
func batchKit(t *testing.T, adjust ...func(*kit)) (*kit, *batchVendor) {
	t.Helper()
	k := newKit(t, adjust...)
	v := &batchVendor{files: map[string]string{}, batches: map[string]bool{}, ended: `"status":"in_progress"`}
	large := target("large", 2, 8)
	large.Price.Services = []catalog.Service{{Name: batch.ServiceTier, Factor: 500}}
	p := k.vendor("openai", v, large, target("small", 1, 1))
	k.use(p, k.vendor("other", http.NotFoundHandler(), target("large", 1, 1)))
	k.keys.others = map[string]*account.Grant{"stranger": {
		Key:       &account.Key{ID: "key_2", WorkspaceID: "ws_2", KeySettings: account.KeySettings{Name: "stranger", Scopes: []account.Scope{account.Inference}}},
		Workspace: &account.Workspace{ID: "ws_2", Name: "Other"},
	}}
	return k, v
}

// use replaces all providers. The first provider offers batches.
func (k *kit) use(first *provider.Provider, others ...*provider.Provider) {
	k.Helper()
	offering := compatible.New(compatible.Row{Name: first.Name, ChatPath: "/chat/completions", Batches: true},
		provider.Settings{BaseURL: first.BaseURL, Targets: first.Targets, Credentials: first.Credentials})
	k.snapshot = route.NewSnapshot(defaultCatalog(k.T), append([]*provider.Provider{offering}, others...), nil)
	k.gateway.Update(k.settings, k.snapshot)
}

func batchLine(model string) string {
	return `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[],"model":"` + model + `","seed":12345678901234567890}}` + "\n"
}

// send sends a request with a key and drops its entry.
func (k *kit) send(key, method, path, body string, headers ...string) clientResponse {
	k.Helper()
	r := k.request(method, path, body, headers...)
	r.Header.Set("Authorization", "Bearer "+key)
	got := k.do(r)
	k.entry()
	return got
}

// upload uploads a file.
func (k *kit) upload(key, content string, headers ...string) clientResponse {
	k.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("purpose", "batch")
	file, _ := w.CreateFormFile("file", "in.jsonl")
	_, _ = io.WriteString(file, content)
	_ = w.Close()
	return k.send(key, http.MethodPost, "/files", body.String(), append(headers, "Content-Type", w.FormDataContentType())...)
}

func TestFilesAndBatchesPass(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	got := k.upload("good", batchLine("openai/large")+"\n"+batchLine("large"))
	if got.status != 200 || got.body != `{"id":"file-0","object":"file","purpose":"batch","filename":"in.jsonl","future":[1.0]}` || got.header.Get("X-Fairlead-Provider") != "openai" {
		t.Fatalf("upload: %d %v %s", got.status, got.header, got.body)
	}
	if want := batchLine("large-2026") + batchLine("large-2026"); v.files["file-0"] != want {
		t.Errorf("sent %s, want %s", v.files["file-0"], want)
	}
	got = k.send("good", "POST", "/batches", `{"input_file_id":"file-0","endpoint":"/v1/chat/completions","completion_window":"24h"}`)
	if got.status != 200 || got.json(t)["id"] != "batch_0" {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	if got := k.send("good", "GET", "/batches/batch_0", ""); got.status != 200 || got.json(t)["status"] != "in_progress" {
		t.Errorf("get: %d %s", got.status, got.body)
	}
	if got := k.send("good", "POST", "/batches/batch_0/cancel", ""); got.status != 200 {
		t.Errorf("cancel: status %d, want 200: %s", got.status, got.body)
	}
	if got := k.send("good", "GET", "/files/file-0/content", ""); got.status != 200 || got.body != v.files["file-0"] || got.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("content: %d %v %s", got.status, got.header, got.body)
	}
	if got := k.send("good", "GET", "/batches?limit=1", ""); got.json(t)["has_more"] != false || len(got.json(t)["data"].([]any)) != 1 {
		t.Errorf("list: %s", got.body)
	}
	if got := k.send("good", "DELETE", "/files/file-0", ""); got.status != 200 || got.json(t)["deleted"] != true {
		t.Errorf("delete: %d %s", got.status, got.body)
	}
	if got := k.send("good", "GET", "/files/file-0", ""); got.status != 404 {
		t.Errorf("a deleted file: status %d, want 404: %s", got.status, got.body)
	}
	want := []string{"POST /v1/files", "POST /v1/batches", "GET /v1/batches/batch_0", "POST /v1/batches/batch_0/cancel", "GET /v1/files/file-0/content", "GET /v1/batches/batch_0", "DELETE /v1/files/file-0"}
	if diff := cmp.Diff(want, v.calls); diff != "" {
		t.Error(diff)
	}
}

// Every id of another workspace, known or not, gets the same 404 for every operation, and the provider is not called.
func TestObjectsOfOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	k.upload("good", batchLine("large"))
	k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`)
	v.ended = `"status":"completed","output_file_id":"file-9","error_file_id":"file-8"`
	v.files["file-9"], v.files["file-8"] = "secret", "secret"
	if got := k.send("good", "GET", "/batches/batch_0", ""); got.status != 200 {
		t.Fatal(got.body)
	}
	v.calls = nil
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.OneOf(rapid.SampledFrom([]string{"file-0", "file-8", "file-9", "batch_0"}), rapid.StringMatching(`(file-|batch_)[a-z0-9]{1,12}`)).Draw(rt, "id")
		op := rapid.SampledFrom([]string{"GET /files/%s", "DELETE /files/%s", "GET /files/%s/content", "GET /batches/%s", "POST /batches/%s/cancel", "POST /batches", "GET /files?after=%s", "GET /batches?after=%s"}).Draw(rt, "op")
		method, path, _ := strings.Cut(op, " ")
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, id)
		}
		got := k.send("stranger", method, path, `{"input_file_id":"`+id+`"}`)
		if got.status != 404 || got.code(t) != "NOT_FOUND" {
			rt.Fatalf("%s: %d %s", op, got.status, got.body)
		}
	})
	for _, path := range []string{"/files", "/batches"} {
		if got := k.send("stranger", "GET", path, ""); len(got.json(t)["data"].([]any)) > 0 {
			t.Errorf("%s lists objects of another workspace: %s", path, got.body)
		}
	}
	if len(v.calls) > 0 {
		t.Errorf("the provider was called: %q", v.calls)
	}
	if got := k.send("good", "GET", "/files/file-9/content", ""); got.body != "secret" {
		t.Errorf("the owner gets %s, want secret", got.body)
	}
	if got := k.send("good", "GET", "/files", ""); len(got.json(t)["data"].([]any)) != 3 {
		t.Errorf("the owner's list: got %s, want 3 files", got.body)
	}
}

func TestBatchIsChargedOnce(t *testing.T) {
	t.Parallel()
	line := func(in, cached, out int) string {
		return fmt.Sprintf(`{"custom_id":"a","response":{"status_code":200,"body":{"model":"large-2026","usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}}}`+"\n", in, out, cached)
	}
	var names strings.Builder
	for i := range batch.MaxModels + 1 {
		names.WriteString(strings.Replace(line(1, 0, 1), "large-2026", fmt.Sprintf("large-%d", i), 1))
	}
	half := money.PerMillion(1).Cost(1_000_000).Add(money.PerMillion(4).Cost(500_000)) // 2 and 8 dollars at half price
	for name, tc := range map[string]struct {
		ended, results string
		cost           *money.Amount
		entries        int
	}{
		"usage":        {`"status":"completed","model":"large-2026","usage":{"input_tokens":1000000,"output_tokens":500000}`, "", &half, 1},
		"results":      {`"status":"expired","output_file_id":"file-9"`, line(600_000, 100_000, 200_000) + `{"response":{"status_code":400}}` + "\n" + line(400_000, 0, 300_000), &half, 1},
		"failed":       {`"status":"failed","errors":{}`, "", nil, 0},
		"no requests":  {`"status":"cancelled","usage":{"input_tokens":0,"output_tokens":0},"request_counts":{"completed":0}`, "", nil, 0},
		"zero usage":   {`"status":"completed","usage":{"input_tokens":0,"output_tokens":0},"request_counts":{"completed":2},"output_file_id":"file-9"`, line(1_000_000, 0, 500_000), &half, 1},
		"no usage":     {`"status":"completed","output_file_id":"file-9"`, `{"response":{"status_code":200,"body":{"model":"large-2026"}}}`, nil, 1},
		"in progress":  {`"status":"finalizing","usage":{"input_tokens":5,"output_tokens":5}`, "", nil, 0},
		"many models":  {`"status":"completed","output_file_id":"file-9"`, names.String(), nil, 1},
		"implausible":  {`"status":"completed","usage":{"input_tokens":9000000000000000000,"output_tokens":5},"output_file_id":"file-9"`, line(1_000_000, 0, 500_000), &half, 1},
		"huge results": {`"status":"completed","output_file_id":"file-9"`, line(9_000_000_000_000_000_000, 0, 5), nil, 1},
		"contradicted": {`"status":"completed","usage":{"input_tokens":-5,"output_tokens":5},"output_file_id":"file-9"`, line(1_000_000, 0, 500_000), &half, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, v := batchKit(t)
			k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Total}
			k.upload("good", batchLine("large"))
			k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`)
			v.ended, v.files["file-9"] = tc.ended, tc.results
			reader := *k.keys.grant
			reader.Key = &account.Key{ID: "key_3", WorkspaceID: "ws_1", KeySettings: account.KeySettings{Name: "reader", Scopes: []account.Scope{account.Inference}}}
			k.keys.others["reader"] = &reader
			var charged []*requestlog.Entry
			for range 3 {
				r := k.request("GET", "/batches/batch_0", "")
				r.Header.Set("Authorization", "Bearer reader")
				if got := k.do(r); got.status != 200 {
					t.Fatalf("status %d, want 200: %s", got.status, got.body)
				}
			}
			k.do(k.request("GET", "/batches", ""))
			for len(k.log.ended) > 0 {
				if e := k.entry(); e.Model != "" {
					charged = append(charged, e)
				}
			}
			if len(charged) != tc.entries {
				t.Fatalf("got %d entries with usage, want %d", len(charged), tc.entries)
			}
			if tc.entries == 0 {
				return
			}
			e := charged[0]
			if diff := cmp.Diff(tc.cost, e.Cost); diff != "" || e.KeyID != "key_1" || e.Model != "large" || e.Provider != "openai" || e.Endpoint != "batches" || e.Served() {
				t.Errorf("entry %+v, cost %s", e, diff)
			}
			if tc.cost == nil {
				if len(e.Warnings) == 0 {
					t.Error("an unknown cost has no warning")
				}
				return
			}
			if e.Usage.Prompt() != 1_000_000 || e.Usage.Output != 500_000 || e.Bill.Total != *e.Cost {
				t.Errorf("usage %+v, bill %+v", e.Usage, e.Bill)
			}
			// The budget of the creating key is used up.
			if got := k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`); got.status != 402 || got.code(t) != "BUDGET_EXCEEDED" {
				t.Errorf("a batch over the budget: %d %s", got.status, got.body)
			}
			if got := k.send("good", "GET", "/batches/batch_0", ""); got.status != 200 {
				t.Errorf("reading over the budget: status %d, want 200: %s", got.status, got.body)
			}
		})
	}
}

// follow polls batches once, as after a start of the process, and returns the held amount and the entry of a settled batch, which may be nil.
func (k *kit) follow() (held money.Amount, charged *requestlog.Entry) {
	k.Helper()
	ctx, cancel := context.WithCancel(k.Context())
	k.gateway.FollowBatches(ctx, func(_ string, err error) {
		if err != nil {
			k.Error(err)
		}
		held = k.held()
		cancel()
	})
	if k.held() != 0 {
		k.Errorf("%s is held after the replica stopped following batches", k.held())
	}
	for len(k.log.ended) > 0 {
		if e := k.entry(); e.Model != "" {
			charged = e
		}
	}
	return held, charged
}

func TestBatchIsHeldAndChargedWithoutAReader(t *testing.T) {
	t.Parallel()
	// Half of $8 per million tokens, for 1,000 and twice 500 tokens of output, and half of $2 for each byte of the bodies.
	lines := strings.Replace(batchLine("large"), `"seed"`, `"max_tokens":1000,"seed"`, 1) + strings.Replace(batchLine("large"), `"seed"`, `"max_completion_tokens":500,"n":2,"seed"`, 1)
	size := int64(0)
	for line := range strings.Lines(lines) {
		size += int64(len(rawjson.Get([]byte(line), "body").Raw))
	}
	most := money.PerMillion(4).Cost(2000).Add(money.PerMillion(1).Cost(size))
	for name, tc := range map[string]struct {
		ended string
		age   time.Duration
		cost  *money.Amount
	}{
		"in progress":   {`"status":"in_progress"`, 0, nil},
		"completed":     {`"status":"completed","model":"large-2026","usage":{"input_tokens":100,"output_tokens":100}`, 0, new(money.PerMillion(5).Cost(100))},
		"never ends":    {`"status":"in_progress"`, 73 * time.Hour, &most},
		"has no record": {``, 73 * time.Hour, &most},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, v := batchKit(t)
			k.keys.grant.Key.Budget = &account.Budget{Amount: 2*most - 1, Period: account.Total}
			k.upload("good", lines)
			for _, want := range []int{200, 402} {
				if got := k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`); got.status != want && (want == 200 || got.status != 429) {
					t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
				}
			}
			if k.held() != most {
				t.Fatalf("held %s, want %s", k.held(), most)
			}
			if v.ended = tc.ended; tc.ended == "" {
				v.batches = map[string]bool{}
			}
			k.objects.list[1].CreatedAt = time.Now().Add(-tc.age)
			held, charged := k.follow()
			if tc.cost == nil {
				if charged != nil || held != most {
					t.Errorf("held %s and charged %+v, want %s and no entry", held, charged, most)
				}
				if held, _ = k.follow(); held != most { // as after a restart
					t.Errorf("held %s after a restart, want %s", held, most)
				}
				return
			}
			if charged == nil || *charged.Cost != *tc.cost || k.spent() != *tc.cost || held != 0 || charged.Usage.Estimated != (tc.age > 0) {
				t.Errorf("charged %+v, spent %s, held %s, want %s", charged, k.spent(), held, tc.cost)
			}
			if held, charged := k.follow(); charged != nil || held != 0 {
				t.Errorf("charged %+v again, held %s", charged, held)
			}
		})
	}
}

// If the process stops after the entry of a batch is written and before the batch is settled, the next request writes the same entry,
// and the cost is charged once.
func TestInterruptedSettlementIsRepeated(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: 4 * money.Dollar, Period: account.Total}
	k.upload("good", batchLine("large"))
	k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`)
	v.ended = `"status":"completed","model":"large-2026","usage":{"input_tokens":1000000,"output_tokens":500000}` // the usage costs 3 dollars
	var charged []*requestlog.Entry
	read := func(want int) {
		t.Helper()
		if got := k.do(k.request("GET", "/batches/batch_0", "")); got.status != want {
			t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
		}
		for len(k.log.ended) > 0 {
			if e := k.entry(); e.Model != "" {
				charged = append(charged, e)
			}
		}
	}
	k.objects.stopped = errors.New("process stopped")
	read(503)
	k.objects.stopped = nil
	read(200)
	read(200)
	if len(charged) != 2 || charged[0].ID != charged[1].ID || !charged[0].Time.Equal(charged[1].Time) || *charged[1].Cost != 3*money.Dollar {
		t.Fatalf("%d entries: %+v", len(charged), charged)
	}
	if got := k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`); got.status != 200 {
		t.Errorf("after the repeated settlement: status %d, want 200: %s", got.status, got.body)
	}
}

func TestBatchesAreChecked(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	for name, tc := range map[string]struct {
		content, code string
		headers       []string
	}{
		"no JSON":             {"hello", "INVALID_JSON", nil},
		"repeated model":      {`{"url":"/v1/chat/completions","body":{"model":"large","model":"small"}}`, "INVALID_REQUEST", nil},
		"no model":            {`{"url":"/v1/chat/completions","body":{}}`, "INVALID_REQUEST", nil},
		"unknown url":         {`{"url":"/v1/images","body":{"model":"large"}}`, "INVALID_REQUEST", nil},
		"empty":               {"\n", "INVALID_REQUEST", nil},
		"unknown model":       {batchLine("none"), "MODEL_NOT_FOUND", nil},
		"auto":                {batchLine("auto"), "MODEL_NOT_FOUND", nil},
		"other provider":      {batchLine("large"), "NO_ROUTE", []string{"X-Fairlead-Provider", "other"}},
		"unknown provider":    {batchLine("large"), "INVALID_REQUEST", []string{"X-Fairlead-Provider", "none"}},
		"wrong kind of model": {strings.Replace(batchLine("large"), "chat/completions", "embeddings", 1), "MODEL_NOT_FOUND", nil},
	} {
		if got := k.upload("good", tc.content, tc.headers...); got.status < 400 || got.code(t) != tc.code {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if len(v.calls) > 0 {
		t.Errorf("the provider was called: %q", v.calls)
	}
	k.upload("good", batchLine("large"))
	k.upload("good", batchLine("small"))
	create := func(file string) clientResponse {
		return k.send("good", "POST", "/batches", `{"input_file_id":"`+file+`"}`)
	}
	if got := create("file-1"); got.status != 400 || got.code(t) != "NO_ROUTE" || !strings.Contains(got.body, "batch price") {
		t.Errorf("a model without a batch price: %d %s", got.status, got.body)
	}
	k.keys.grant.Key.AllowUnpriced = true
	if got := create("file-1"); got.status != 200 {
		t.Errorf("allowed without a price: status %d, want 200: %s", got.status, got.body)
	}
	k.keys.grant.Key.AllowedModels = []string{"small"}
	if got := create("file-0"); got.status != 403 || got.code(t) != "MODEL_NOT_ALLOWED" {
		t.Errorf("a model that the key excludes: %d %s", got.status, got.body)
	}
	for path, body := range map[string]string{"/batches": `{"input_file_id":1}`, "/files": `{}`} {
		if got := k.send("good", "POST", path, body); got.status < 400 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/files/file-0/other", "/batches/batch_0/content"} {
		if got := k.do(k.request("GET", path, "")); got.status != 404 {
			t.Errorf("%s: status %d, want 404", path, got.status)
		}
	}
}

// The requests in a batch input file can refer only to files and responses of the same workspace that are stored at the account of the
// input file.
func TestBatchLinesNameOnlyObjectsOfTheirWorkspace(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	k.upload("stranger", batchLine("large")) // becomes file-0
	k.upload("good", batchLine("large"))     // becomes file-1
	line := func(body string) string {
		return batchLine("large") + `{"custom_id":"b","method":"POST","url":"/v1/responses","body":{` + body + `,"model":"large"}}` + "\n"
	}
	seal := func(workspace, credential string) string {
		return storedIDs.Seal(llm.StoredResponse{Workspace: workspace, Provider: "openai", Credential: credential, ID: "resp_1"})
	}
	credential := k.objects.list[1].Credential
	for name, body := range map[string]string{
		"file of another workspace": `"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-0"}]}]`,
		"escaped":                   `"input":[{"role":"user","content":[{"type":"input_file","file\u005fid":"file\u002d0"}]}]`,
		"unknown file":              `"input":[{"role":"user","content":[{"type":"input_image","file_id":"file-9"}]}]`,
		"files of a tool":           `"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file-1","file-0"]}}]`,
		"response of the provider":  `"previous_response_id":"resp_1"`,
		"response of a workspace":   `"previous_response_id":"` + seal("ws_2", credential) + `"`,
		"response of an account":    `"previous_response_id":"` + seal("ws_1", "other") + `"`,
	} {
		calls := len(v.calls)
		got := k.upload("good", line(body))
		if got.status != 404 || got.code(t) != "NOT_FOUND" || !strings.Contains(got.body, "Line 2 of the file: ") || len(v.calls) != calls {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	mine := `"metadata":{"file_id":"file-0"},"input":[{"content":[{"file_id":"file-1"}]}],"previous_response_id":`
	if got := k.upload("good", line(mine+`"`+seal("ws_1", credential)+`"`)); got.status != 200 {
		t.Fatalf("own objects: status %d, want 200: %s", got.status, got.body)
	}
	if want := strings.ReplaceAll(line(mine+`"resp_1"`), `"large"`, `"large-2026"`); v.files["file-2"] != want {
		t.Errorf("sent %s\nwant %s", v.files["file-2"], want)
	}
}

func TestPoliciesApplyToBatches(t *testing.T) {
	t.Parallel()
	k, _ := batchKit(t, func(k *kit) {
		set, problems := policy.Parse("workspace", []byte("policies: [{name: none, when: 'request.model.endsWith(\"large\")', deny: No large models.}, {name: one, exclude: {providers: [beta]}}]"), policy.Inventory{AllowUnknown: true})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		k.policies = fixedPolicies{set}
	})
	k.upload("good", batchLine("large"))
	if got := k.send("good", "POST", "/batches", `{"input_file_id":"file-0"}`); got.status != 403 || got.code(t) != "POLICY_REJECTED" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestSeveralProvidersOfBatchesNeedAName(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	large := target("large", 1, 1)
	large.Provider = "second"
	second := compatible.New(compatible.Row{Name: "second", ChatPath: "/chat/completions", Batches: true}, provider.Settings{BaseURL: "http://second.invalid/v1", Targets: []*provider.Target{large}})
	k.snapshot = route.NewSnapshot(defaultCatalog(t), append(slices.Clone(k.snapshot.Providers), second), nil)
	k.gateway.Update(k.settings, k.snapshot)
	if got := k.upload("good", batchLine("large")); got.status != 400 || !strings.Contains(got.body, "openai, second") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, got := range []clientResponse{k.upload("good", batchLine("openai/large")), k.upload("good", batchLine("large"), "X-Fairlead-Provider", "openai")} {
		if got.status != 200 {
			t.Errorf("status %d, want 200: %s", got.status, got.body)
		}
	}
	if len(v.calls) != 2 {
		t.Errorf("calls %q, want 2", v.calls)
	}
}

func TestObjectWithoutRecordedOwnerIsRemoved(t *testing.T) {
	t.Parallel()
	k, v := batchKit(t)
	k.objects.failing = io.ErrUnexpectedEOF
	if got := k.upload("good", batchLine("large")); got.status != 503 || got.code(t) != "LEDGER_UNAVAILABLE" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if want := []string{"POST /v1/files", "DELETE /v1/files/file-0"}; !slices.Equal(v.calls, want) {
		t.Errorf("calls %q", v.calls)
	}
}

func TestProvidersWithoutBatchesAreReported(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	if got := k.upload("good", batchLine("large")); got.status != 400 || got.code(t) != "NO_ROUTE" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
