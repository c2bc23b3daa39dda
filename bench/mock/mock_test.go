package mock

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, c Config) (*Server, string) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { l.Close(); s.Close() })
	return s, "http://" + l.Addr().String()
}

func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

func TestWholeAnswers(t *testing.T) {
	_, url := start(t, Default())
	for path, field := range map[string]string{
		"/v1/chat/completions": "choices", "/v1/embeddings": "data", "/v1/messages": "content", "/v1/models": "data",
	} {
		resp, body, err := post(t, url+path, `{"model":"m"}`)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(body), &v); err != nil || v[field] == nil {
			t.Fatalf("%s: %v %q", path, err, body)
		}
		if path == "/v1/chat/completions" && (len(body) < 1400 || len(body) > 1600) {
			t.Errorf("chat answer has %d bytes", len(body))
		}
	}
	if resp, _, _ := post(t, url+"/nowhere", ``); resp.StatusCode != http.StatusNotFound {
		t.Errorf("unknown path: %d", resp.StatusCode)
	}
}

var dataLine = regexp.MustCompile(`(?m)^data: (.*)$`)

func TestStreams(t *testing.T) {
	c := Default()
	c.Chunks, c.UsageOnRequest = 7, true
	s, url := start(t, c)
	for _, x := range []struct {
		path, body, last string
		events           int
		usage            bool
	}{
		{"/v1/chat/completions", `{"stream":true}`, "[DONE]", 1 + 7 + 2, false},
		{"/v1/chat/completions", `{"stream": true,"stream_options":{"include_usage":true}}`, "[DONE]", 1 + 7 + 3, true},
		{"/v1/messages", `{"stream":true}`, `{"type":"message_stop"}`, 3 + 7 + 3, true},
	} {
		resp, body, err := post(t, url+x.path, x.body)
		if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s: %v", x.path, err)
		}
		found := dataLine.FindAllStringSubmatch(body, -1)
		for _, m := range found {
			if m[1] != "[DONE]" && !json.Valid([]byte(m[1])) {
				t.Errorf("%s: not JSON: %s", x.path, m[1])
			}
		}
		if x.usage != strings.Contains(body, `"usage"`) {
			t.Errorf("%s: usage present: %v", x.path, !x.usage)
		}
		if len(found) != x.events || found[len(found)-1][1] != x.last {
			t.Errorf("%s: %d events, want %d, last %q", x.path, len(found), x.events, found[len(found)-1][1])
		}
	}
	if n := s.Stats().Chunks; n != 21 {
		t.Errorf("%d chunks counted", n)
	}
}

func TestFailures(t *testing.T) {
	c := Default()
	c.FailEvery, c.HangMS = 2, 50
	s, url := start(t, c)
	for kind, bad := range map[string]func(*http.Response, error) bool{
		Fail500: func(r *http.Response, err error) bool {
			return err == nil && r.StatusCode == http.StatusInternalServerError
		},
		Fail429: func(r *http.Response, err error) bool {
			return err == nil && r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "1"
		},
		FailTimeout: func(r *http.Response, err error) bool { return err != nil },
		FailCut:     func(r *http.Response, err error) bool { return err != nil },
	} {
		c.FailKind = kind
		if err := s.Configure(c); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{`{}`, `{"stream":true}`} {
			before := s.Stats().Failures
			failed := 0
			for range 4 {
				if resp, _, err := post(t, url+"/v1/chat/completions", body); bad(resp, err) {
					failed++
				}
			}
			// The standard client may retry a request whose connection died
			// unanswered, so a timeout can show up more or less often.
			if injected := s.Stats().Failures - before; injected < 1 || (kind != FailTimeout && failed != 2) {
				t.Errorf("%s %s: %d failed, %d injected", kind, body, failed, injected)
			}
		}
	}
	c.FailKind = "nonsense"
	if s.Configure(c) == nil {
		t.Error("accepted a failure kind that does not exist")
	}
}

func TestClientGoneAndControl(t *testing.T) {
	_, url := start(t, Default())
	if resp, body, err := post(t, url+"/_mock/config", `{"chunks":1000,"gap_ms":5}`); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(body, err)
	}
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, body, err := post(t, url+"/_mock/stats", "")
		if err != nil {
			t.Fatal(err)
		}
		var st Stats
		if err := json.Unmarshal([]byte(body), &st); err != nil {
			t.Fatal(err)
		}
		if st.ClientGone == 1 && st.ActiveStreams == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", st)
		}
	}
}

func TestScanAcrossParts(t *testing.T) {
	const in = `{"a":true,"stream" : true,"x":"stream\":true","stream_options":{"include_usage": true}}`
	for cut := range len(in) {
		var q request
		q.scan([]byte(in[:cut]))
		q.scan([]byte(in[cut:]))
		if !q.stream || !q.usage || q.size != len(in) {
			t.Fatalf("cut at %d: %+v", cut, q)
		}
	}
	var q request
	q.scan([]byte(`{"stream":false,"include_usage":false,"b":true}`))
	if q.stream || q.usage {
		t.Errorf("%+v", q)
	}
}
