// Package providertest is the suite that every provider passes. It feeds a provider golden requests and answers and
// compares what it makes of them with files that people have reviewed; go test -update writes these files anew.
package providertest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"flag"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
)

var update = flag.Bool("update", false, "write the golden files anew")

//go:embed requests/*.request.json
var shared embed.FS

const (
	secret  = "sk-secret-0123456789abcdef"
	address = "https://provider.test/v1"
)

// Run checks one provider. dir holds its golden files:
//
//	NAME.request.json   what a client sends: added to the requests of the suite itself
//	NAME.sent.http      what the provider is sent for it
//	NAME.X.received.http  what the provider answers to the request NAME; X tells answers to the same request apart
//	NAME.X.events.json  what we make of that answer
//
// A request goes to the target that it names in "model", or to the first one that can serve it.
func Run(t *testing.T, dir string, newProvider func(baseURL string) *provider.Provider, options ...Option) {
	t.Helper()
	s := suite{dir: dir, provider: newProvider(address), requests: readRequests(t, dir)}
	for _, set := range options {
		set(&s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.requests)) {
		t.Run("sends "+name, func(t *testing.T) { s.sends(t, name) })
	}
	answers, err := filepath.Glob(filepath.Join(dir, "*.received.http"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range answers {
		name := strings.TrimSuffix(filepath.Base(file), ".received.http")
		t.Run("receives "+name, func(t *testing.T) { s.receives(t, name, file) })
	}
	t.Run("judges every status", s.judgesStatuses)
	t.Run("refuses what is no answer", s.refusesNonsense)
}

type suite struct {
	dir      string
	provider *provider.Provider
	requests map[string][]byte
	encode   func(h http.Header, body []byte) []byte
}

// Option changes how a provider is checked.
type Option func(*suite)

// Encode is for providers whose answers are not text: the golden files hold a form of them that people can read, and
// encode makes of it what the provider sends.
func Encode(encode func(h http.Header, body []byte) []byte) Option {
	return func(s *suite) { s.encode = encode }
}

func readRequests(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	requests := map[string][]byte{}
	for _, files := range []fs.FS{shared, os.DirFS(dir)} {
		pattern := "*.request.json"
		if files == fs.FS(shared) {
			pattern = "requests/" + pattern
		}
		names, err := fs.Glob(files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			body, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			requests[strings.TrimSuffix(filepath.Base(name), ".request.json")] = bytes.TrimSpace(body)
		}
	}
	return requests
}

// call prepares the attempt for a request; it reports false when the provider has no target for it.
func (s *suite) call(t *testing.T, name string) (provider.Exchange, *provider.Call, bool) {
	t.Helper()
	body, known := s.requests[name]
	if !known {
		t.Fatalf("there is no request %s", name)
	}
	op := llm.Chat
	for prefix, other := range map[string]llm.Op{"embed": llm.Embed, "complete": llm.Complete, "moderate": llm.Moderate} {
		if strings.HasPrefix(name, prefix) {
			op = other
		}
	}
	req, err := chat.Format{}.DecodeRequest(context.Background(), op, bytes.Clone(body))
	if err != nil {
		t.Fatal(err)
	}
	target, named := s.provider.Target(req.Model)
	if !named {
		i := slices.IndexFunc(s.provider.Targets, func(t *provider.Target) bool {
			return t.Serves(op) && t.Model.Abilities.Has(req.Needs)
		})
		if i < 0 {
			return nil, nil, false
		}
		target = s.provider.Targets[i]
	}
	exchange := s.provider.Exchange(op)
	return exchange, &provider.Call{Target: target, Secret: secret, Request: req, Client: chat.Format{}}, exchange != nil
}

type contextKey struct{}

func (s *suite) sends(t *testing.T, name string) {
	t.Parallel()
	exchange, call, ok := s.call(t, name)
	if !ok {
		t.Skip("not offered here")
	}
	ctx := context.WithValue(t.Context(), contextKey{}, name)
	r, err := exchange.NewRequest(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	if r.Context().Value(contextKey{}) != name {
		t.Error("the request does not carry the context it was given")
	}
	if r.GetBody == nil {
		t.Error("the request cannot be sent again")
	}
	if !bytes.Equal(call.Request.Body, s.requests[name]) {
		t.Error("the client's bytes were changed")
	}
	s.compare(t, name+".sent.http", sent(t, r, call.Warnings))
}

// sent writes a request as it goes over the wire, with the secret masked and what the caller is told behind it.
func sent(t *testing.T, r *http.Request, warnings []string) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(body, []byte(secret)) || strings.Contains(r.URL.String(), secret) {
		t.Error("the secret is outside the headers")
	}
	var out bytes.Buffer
	out.WriteString(r.Method + " " + r.URL.RequestURI() + " HTTP/1.1\nHost: " + cmp.Or(r.Host, r.URL.Host) + "\n")
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			out.WriteString(name + ": " + strings.ReplaceAll(value, secret, "SECRET") + "\n")
		}
	}
	out.WriteString("\n")
	out.Write(body)
	out.WriteString("\n")
	for _, warning := range warnings {
		out.WriteString("\n# " + warning)
	}
	if len(warnings) > 0 {
		out.WriteString("\n")
	}
	return out.Bytes()
}

func (s *suite) receives(t *testing.T, name, file string) {
	t.Parallel()
	request, _, _ := strings.Cut(name, ".")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := s.read(t, request, raw, func(r io.Reader) io.Reader { return r })
	// Where the network cuts an answer into segments must not matter.
	if diff := gocmp.Diff(string(whole), string(s.read(t, request, raw, iotest.OneByteReader))); diff != "" {
		t.Errorf("read byte by byte, the answer is another:\n%s", diff)
	}
	s.compare(t, name+".events.json", whole)
}

// read makes events or an error of an answer.
func (s *suite) read(t *testing.T, request string, raw []byte, through func(io.Reader) io.Reader) []byte {
	t.Helper()
	exchange, call, ok := s.call(t, request)
	if !ok {
		t.Fatalf("an answer to %s, which is not offered here", request)
	}
	resp := response(t, raw)
	defer resp.Body.Close()
	if s.encode != nil {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body = io.NopCloser(bytes.NewReader(s.encode(resp.Header, body)))
	}
	resp.Body = io.NopCloser(through(resp.Body))
	if resp.StatusCode/100 != 2 {
		return show(nil, exchange.Failure(call, resp), call.Warnings)
	}
	var events []event
	var failure error
	for ev, err := range llm.All(exchange.Events(call, resp)) {
		if err != nil {
			failure = err
			continue
		}
		if failure != nil {
			t.Error("an event follows the error")
		}
		events = append(events, describe(ev))
	}
	return show(events, failure, call.Warnings)
}

// response parses an answer as captured: a status line, headers, an empty line and the body to the end of the file.
func response(t *testing.T, raw []byte) *http.Response {
	t.Helper()
	head, body, found := bytes.Cut(raw, []byte("\n\n"))
	if !found {
		t.Fatal("the answer has no empty line behind its headers")
	}
	head = append(bytes.ReplaceAll(head, []byte("\n"), []byte("\r\n")), "\r\nConnection: close\r\n\r\n"...)
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(head), bytes.NewReader(body))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (s *suite) compare(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join(s.dir, name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not as reviewed (-want +got):\n%s", name, diff)
	}
}
