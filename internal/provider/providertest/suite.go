// Package providertest is the test suite for every provider. It compares requests and decoded responses with reviewed golden
// files; go test -update rewrites these files.
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

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/openai"
)

var update = flag.Bool("update", false, "rewrite the golden files")

//go:embed requests/*.request.json
var shared embed.FS

const (
	secret  = "sk-secret-0123456789abcdef"
	address = "https://provider.test/v1"
)

// Sent builds the request of a call. It returns the request and its body, which can be read again.
func Sent(t *testing.T, exchange provider.Exchange, call *provider.Call) (*http.Request, []byte) {
	t.Helper()
	r, err := exchange.NewRequest(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, body
}

// Run tests one provider. dir holds its golden files:
//
//	NAME.request.json   request of a client, in addition to those of the suite
//	NAME.sent.http      expected request to the provider
//	NAME.X.received.http  response to the request NAME; X distinguishes responses to the same request
//	NAME.X.events.json  expected events
//
// A request is sent to the target named in "model", or to the first target that can serve the request.
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
	t.Run("classifies every status", s.classifiesStatuses)
	t.Run("rejects invalid responses", s.rejectsInvalidResponses)
}

type suite struct {
	dir      string
	provider *provider.Provider
	requests map[string][]byte
	encode   func(h http.Header, body []byte) []byte
}

// Option changes how a provider is tested.
type Option func(*suite)

// Encode returns an option for providers with binary responses: the golden files hold a readable form, and encode
// converts it to the bytes of the response.
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

// call prepares the call for a request. It returns false when the provider has no target for it.
func (s *suite) call(t *testing.T, name string) (provider.Exchange, *provider.Call, bool) {
	t.Helper()
	body, known := s.requests[name]
	if !known {
		t.Fatalf("unknown request %s", name)
	}
	op := llm.Chat
	for prefix, other := range map[string]llm.Op{"embed": llm.Embed, "complete": llm.Complete, "moderate": llm.Moderate} {
		if strings.HasPrefix(name, prefix) {
			op = other
		}
	}
	req, err := openai.Format{}.DecodeRequest(context.Background(), op, bytes.Clone(body))
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
	return exchange, &provider.Call{Target: target, Access: provider.Access{Secret: secret}, Request: req, Client: openai.Format{}}, exchange != nil
}

type contextKey struct{}

func (s *suite) sends(t *testing.T, name string) {
	t.Parallel()
	exchange, call, ok := s.call(t, name)
	if !ok {
		t.Skip("the provider does not support this request")
	}
	ctx := context.WithValue(t.Context(), contextKey{}, name)
	r, err := exchange.NewRequest(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	if r.Context().Value(contextKey{}) != name {
		t.Error("the request does not have the given context")
	}
	if r.GetBody == nil {
		t.Error("the request has no GetBody, so it cannot be repeated")
	}
	if !bytes.Equal(call.Request.Body, s.requests[name]) {
		t.Error("NewRequest changed the body of the client")
	}
	s.compare(t, name+".sent.http", sent(t, r, call.Warnings))
}

// sent formats a request as it is sent, with the secret masked, followed by the warnings.
func sent(t *testing.T, r *http.Request, warnings []string) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(body, []byte(secret)) || strings.Contains(r.URL.String(), secret) {
		t.Error("the body or the URL contains the secret")
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
	// The result must not depend on how the response is split into reads.
	if diff := gocmp.Diff(string(whole), string(s.read(t, request, raw, iotest.OneByteReader))); diff != "" {
		t.Errorf("the response differs when read byte by byte:\n%s", diff)
	}
	s.compare(t, name+".events.json", whole)
}

// read decodes the events or the error of a response.
func (s *suite) read(t *testing.T, request string, raw []byte, through func(io.Reader) io.Reader) []byte {
	t.Helper()
	exchange, call, ok := s.call(t, request)
	if !ok {
		t.Fatalf("golden file for request %s, which the provider does not support", request)
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

// response parses a recorded response: a status line, headers, an empty line and the body to the end of the file.
func response(t *testing.T, raw []byte) *http.Response {
	t.Helper()
	head, body, found := bytes.Cut(raw, []byte("\n\n"))
	if !found {
		t.Fatal("the response has no empty line after its headers")
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
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}
