package export

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var twoLines = []Line{{"audit", time.Unix(1, 0), []byte(`{"id":"aud_1"}`)}, {"request", time.Unix(2, 0), []byte(`{"id":"req_1"}`)}}

// call is a request that a test server received.
type call struct {
	path   string
	header http.Header
	body   string
}

// serve starts a receiver that responds with the statuses in turn and repeats the last one. Each response has the given body.
func serve(t *testing.T, answer string, statuses ...int) (string, *[]call) {
	t.Helper()
	var calls []call
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, call{r.URL.Path, r.Header, string(body)})
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(statuses[min(len(calls), len(statuses))-1])
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return server.URL, &calls
}

func TestWebhookIsSigned(t *testing.T) {
	t.Parallel()
	address, calls := serve(t, "secret answer", 500, 307, 204)
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("twenty-four bytes at least"))
	sink := NewSink(config.Export{Webhook: address + "/hook", Secret: secret, Headers: map[string]string{"Authorization": "Bearer x"}}, "1.2.3")
	for _, want := range []string{"returned status 500", "returned status 307", ""} {
		err := sink.Send(t.Context(), twoLines)
		if (err == nil) != (want == "") || err != nil && (!strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "hook")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if len(*calls) != 3 {
		t.Fatalf("%d calls", len(*calls))
	}
	for _, c := range *calls {
		if c.path != "/hook" || c.body != "{\"id\":\"aud_1\"}\n{\"id\":\"req_1\"}\n" || c.header.Get("Authorization") != "Bearer x" || c.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("call %+v", c)
		}
		id := c.header.Get("Webhook-Id")
		if first := (*calls)[0].header.Get("Webhook-Id"); id == "" || id != first {
			t.Errorf("a repeated batch has the id %q, want %q", id, first)
		}
		seconds, err := strconv.ParseInt(c.header.Get("Webhook-Timestamp"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want, err := alert.Sign(secret, id, time.Unix(seconds, 0), []byte(c.body))
		if got := c.header.Get("Webhook-Signature"); err != nil || got != want {
			t.Errorf("signature %q, want %q, %v", got, want, err)
		}
	}
}

func TestSlowReceiverEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := NewSink(config.Export{Webhook: server.URL + "/path"}, "").Send(ctx, twoLines)
	if err == nil || strings.Contains(err.Error(), "/path") || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("error %v", err)
	}
}

func TestCollectorReceivesLogRecords(t *testing.T) {
	t.Parallel()
	address, calls := serve(t, "", http.StatusOK)
	if err := NewSink(config.Export{OTLP: address + "/", Headers: map[string]string{"api-key": "k"}}, "1.2.3").Send(t.Context(), twoLines); err != nil {
		t.Fatal(err)
	}
	c := (*calls)[0]
	var got collector.ExportLogsServiceRequest
	if err := proto.Unmarshal([]byte(c.body), &got); err != nil {
		t.Fatal(err)
	}
	records := got.ResourceLogs[0].ScopeLogs[0].LogRecords
	if c.path != "/v1/logs" || c.header.Get("Api-Key") != "k" || c.header.Get("Content-Type") != "application/x-protobuf" || len(records) != 2 {
		t.Fatalf("%s %v with %d records", c.path, c.header, len(records))
	}
	if r := records[1]; r.EventName != "fairlead.request" || r.TimeUnixNano != 2e9 || r.Body.GetStringValue() != `{"id":"req_1"}` {
		t.Errorf("record %v", r)
	}
	rejected, err := proto.Marshal(&collector.ExportLogsServiceResponse{PartialSuccess: &collector.ExportLogsPartialSuccess{RejectedLogRecords: 1, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	address, _ = serve(t, string(rejected), http.StatusOK)
	if err := NewSink(config.Export{OTLP: address}, "").Send(t.Context(), twoLines); err == nil || err.Error() != "the collector rejected 1 of 2 records: too old" {
		t.Errorf("error %v", err)
	}
}

func TestFileHasWholeLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "evidence.jsonl")
	sink := NewSink(config.Export{File: path}, "")
	send := func() {
		t.Helper()
		if err := sink.Send(t.Context(), twoLines); err != nil {
			t.Fatal(err)
		}
	}
	const both = "{\"id\":\"aud_1\"}\n{\"id\":\"req_1\"}\n"
	send()
	torn := both + "{\"id\":\"req_2" + strings.Repeat("x", 70_000) // a crash left a part of a line
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	send()
	if got, err := os.ReadFile(path); err != nil || string(got) != both+both {
		t.Errorf("%v\n%s", err, cmp.Diff(both+both, string(got)))
	}
	if err := os.Rename(path, path+".1"); err != nil { // rotation
		t.Fatal(err)
	}
	send()
	if got, err := os.ReadFile(path); err != nil || string(got) != both {
		t.Errorf("after rotation: %q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, wrong := range []string{t.TempDir(), filepath.Join(path, "below")} {
		if err := NewSink(config.Export{File: wrong}, "").Send(t.Context(), twoLines); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
