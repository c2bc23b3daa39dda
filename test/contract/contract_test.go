// Package contract runs the built gateway against the cases in cases/*.txt: what a client sends, what the provider must receive and what
// it answers, what the client gets back, and what the request log says. The cases are the specification; README.md explains their
// format. The runner replays bytes and knows no API format.
package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the actual values into the cases; review every change")

// patience is how long the runner waits for a gateway to start, an entry to be stored and a retried request to succeed.
const patience = 15 * time.Second

// binary returns the gateway to test: FAIRLEAD_TEST_BINARY, or one that is built from this tree.
func binary(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("FAIRLEAD_TEST_BINARY"); named != "" {
		return named
	}
	path := filepath.Join(t.TempDir(), "fairlead")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("build the gateway: %v\n%s", err, out)
	}
	return path
}

// section is a part of a case: a line "-- name argument --" and the text below it.
type section struct{ name, arg, text string }

// contractCase is one file.
type contractCase struct {
	name, head, config string // config is empty for the default configuration
	sections           []section
}

var headline = regexp.MustCompile(`^-- (\w+)(?: (.*))? --\n$`)

func readCase(t *testing.T, path string) contractCase {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	c := contractCase{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
	for line := range strings.Lines(string(data)) {
		n := len(c.sections)
		if m := headline.FindStringSubmatch(line); m != nil {
			c.sections = append(c.sections, section{name: m[1], arg: m[2]})
		} else if n == 0 {
			c.head += line
		} else if c.sections[n-1].text += line; c.sections[n-1].name == "config" {
			c.config += line
		}
	}
	return c
}

func (c contractCase) write() error {
	var text strings.Builder
	text.WriteString(c.head)
	for _, s := range c.sections {
		text.WriteString("-- " + strings.TrimSpace(s.name+" "+s.arg) + " --\n" + s.text)
	}
	return os.WriteFile(filepath.Join("cases", c.name+".txt"), []byte(text.String()), 0o644)
}

func TestContract(t *testing.T) {
	paths, err := filepath.Glob("cases/*.txt")
	must(t, err)
	path := binary(t)
	var shared []contractCase
	for _, file := range paths {
		c := readCase(t, file)
		if c.config == "" {
			shared = append(shared, c)
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start(t, path, c.config).play(t, c)
		})
	}
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		config, err := os.ReadFile("cases/default.yaml")
		must(t, err)
		g := start(t, path, string(config))
		for _, c := range shared {
			t.Run(c.name, func(t *testing.T) { g.play(t, c) })
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gateway is a running binary and its provider. Cases of one gateway run one after the other.
type gateway struct {
	path, dir, url string
	flags          []string
	vars           map[string]string // $name in a case
	response       message           // to the last request or command
	mu             sync.Mutex
	answers        []message // what the provider will answer to the running request
	received       []message // what the provider was sent and the case has not named yet
}

func start(t *testing.T, path, config string) *gateway {
	t.Helper()
	g := &gateway{path: path, dir: t.TempDir()}
	provider := httptest.NewServer(g)
	t.Cleanup(provider.CloseClientConnections)
	g.vars = map[string]string{"PROVIDER": provider.URL}
	file := filepath.Join(g.dir, "fairlead.yaml")
	must(t, os.WriteFile(file, []byte(g.expand(config)), 0o600))
	g.flags = []string{"--data-dir", filepath.Join(g.dir, "data"), "--config", file}
	cmd := g.command("serve --listen 127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // shutting down is tested elsewhere
		<-done
	})
	ready, log := make(chan string, 1), ""
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			var line struct{ Setup string } // the link to create the first account, which is the last thing that is printed
			if log += lines.Text() + "\n"; json.Unmarshal(lines.Bytes(), &line) == nil && line.Setup != "" {
				ready <- line.Setup
			}
		}
		_ = cmd.Wait() // it was killed
	}()
	select {
	case setup := <-ready:
		link, _, _ := strings.Cut(setup, " ")
		g.url, g.vars["SETUP"], _ = strings.Cut(link, "/welcome#")
		g.vars["URL"] = g.url
	case <-done:
		t.Fatalf("the gateway exited before it was ready\n%s", log)
	case <-time.After(patience):
		t.Fatal("the gateway was not ready in time")
	}
	g.makeKey("ADMIN", "--scopes manage")
	g.makeKey("KEY", "")
	return g
}

func (g *gateway) command(args string) *exec.Cmd {
	cmd := exec.Command(g.path, append(strings.Fields(g.expand(args)), g.flags...)...)
	cmd.Dir, cmd.Env = g.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "FAIRLEAD_DETECT=false"}
	return cmd
}

// run runs a command of the binary.
func (g *gateway) run(args string) message {
	out, err := g.command(args).CombinedOutput()
	if err != nil {
		return message{body: err.Error() + "\n" + string(out)}
	}
	return message{body: string(out)}
}

// makeKey creates an API key with the command line and stores its text in a variable.
func (g *gateway) makeKey(name, flags string) {
	g.vars[name] = strings.TrimSpace(g.run("keys create --quiet --name " + name + " " + flags).body)
}

// expand replaces the variables that exist.
func (g *gateway) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if value, ok := g.vars[name]; ok {
			return value
		}
		return "$" + name
	})
}

// play runs the sections of a case in their order.
func (g *gateway) play(t *testing.T, c contractCase) {
	for i := range c.sections {
		switch s := &c.sections[i]; s.name {
		case "config", "answer":
		case "key":
			g.makeKey(s.arg, s.text)
		case "run":
			g.response = g.run(s.text)
		case "request":
			g.checkReceived(t)
			g.request(t, *s, c.sections[i+1:])
		case "provider":
			if len(g.received) == 0 {
				t.Errorf("the provider was not sent the request of the section that begins with %s", s.text)
			} else {
				g.compare(t, s, g.received[0])
				g.received = g.received[1:]
			}
		case "response", "output":
			g.compare(t, s, g.response)
		case "log":
			g.compareLog(t, s)
		default:
			t.Fatalf("unknown section %q", s.name)
		}
	}
	if g.checkReceived(t); *update {
		must(t, c.write())
	}
}

func (g *gateway) checkReceived(t *testing.T) {
	if len(g.received) > 0 {
		t.Errorf("the provider received %d other requests, first %s\n%s", len(g.received), g.received[0].first, g.received[0].body)
	}
	g.received = nil
}

// request sends a request, with the answers of the sections that follow it for the provider.
func (g *gateway) request(t *testing.T, s section, rest []section) {
	g.answers = nil
	status := ""
	for _, next := range rest {
		if next.name == "request" {
			break
		}
		if next.name == "answer" {
			g.answers = append(g.answers, parseMessage(g.expand(next.text)))
		}
		if next.name == "response" {
			status, _, _ = strings.Cut(next.text, "\n")
		}
	}
	g.response = g.send(t, s)
	for until := time.Now().Add(patience); s.arg == "eventually" && g.response.first != status && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
		g.received = nil
		g.response = g.send(t, s)
	}
	g.vars["request"] = g.response.header.Get("X-Request-Id")
}

// message is a request or a response: its first line, headers and body.
type message struct {
	first  string
	header http.Header
	body   string
}

func parseMessage(text string) message {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	m := message{first: lines[0], header: http.Header{}, body: strings.TrimRight(body, "\n")}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		m.header.Add(name, strings.TrimSpace(value))
	}
	return m
}

func (g *gateway) send(t *testing.T, s section) message {
	t.Helper()
	m := parseMessage(g.expand(s.text))
	method, path, _ := strings.Cut(m.first, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(m.body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+g.vars["KEY"])
	if m.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range m.header { // an empty value removes the header
		if req.Header.Set(name, values[0]); values[0] == "" {
			req.Header.Del(name)
		}
	}
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = append(body, "<broken>"...)
	}
	return message{fmt.Sprint(resp.StatusCode), resp.Header, string(body)}
}

// ServeHTTP is the provider.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)                                               // a shorter body fails the comparison
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") { // discovery of models is not part of a case
		http.NotFound(w, r)
		return
	}
	g.mu.Lock()
	g.received = append(g.received, message{r.Method + " " + r.URL.RequestURI(), r.Header, string(body)})
	answer := message{first: "400", body: "the case has no answer left"}
	if len(g.answers) > 0 {
		answer, g.answers = g.answers[0], g.answers[1:]
	}
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(answer.body, "event:") || strings.HasPrefix(answer.body, "data:") {
		w.Header().Set("Content-Type", "text/event-stream")
		answer.body += "\n\n"
	}
	for name := range answer.header {
		w.Header().Set(name, answer.header.Get(name))
	}
	switch status, _ := strconv.Atoi(answer.first); answer.first {
	case "close":
		panic(http.ErrAbortHandler)
	case "stall":
		<-r.Context().Done()
	default:
		w.WriteHeader(status)
	}
	for line := range strings.Lines(answer.body) {
		if line = strings.TrimRight(line, "\n"); line == "<close>" || line == "<stall>" {
			_ = http.NewResponseController(w).Flush() // the client may be gone
			if line == "<stall>" {
				<-r.Context().Done()
			}
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, line+"\n") // the client may be gone
	}
}

// compare checks a message. Only the headers that the case names are compared; an empty value means that the header is absent.
func (g *gateway) compare(t *testing.T, s *section, got message) {
	t.Helper()
	want := message{body: strings.TrimRight(s.text, "\n")}
	if s.name != "output" {
		want = parseMessage(s.text)
	}
	wantText, gotText := want.first+"\n", got.first+"\n"
	for _, name := range slices.Sorted(maps.Keys(want.header)) {
		wantText += name + ": " + want.header.Get(name) + "\n"
		gotText += name + ": " + got.header.Get(name) + "\n"
	}
	wantBody, gotBody := want.body, strings.TrimRight(got.body, "\n")
	if s.arg != "exactly" {
		wantBody, gotBody = canonical(wantBody), canonical(gotBody)
	}
	g.report(t, s, wantText+"\n"+wantBody, gotText+"\n"+gotBody)
}

// report fails if the texts differ, or replaces the section for -update.
func (g *gateway) report(t *testing.T, s *section, want, got string) {
	t.Helper()
	if got = g.mask(want, got); want == got {
		return
	}
	if *update {
		s.text = strings.TrimSpace(strings.ReplaceAll(got, g.url, "$URL")) + "\n"
		return
	}
	t.Errorf("%s of %s differs (-want +got):\n%s", s.name, g.vars["request"], cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
}

// compareLog checks columns of the entry of the last request, written as "path: value".
func (g *gateway) compareLog(t *testing.T, s *section) {
	t.Helper()
	show := section{text: "GET /api/v1/requests/$request\nAuthorization: Bearer $ADMIN\n"}
	columns := map[string]string{}
	for until := time.Now().Add(patience); time.Now().Before(until) && columns["outcome"] == ""; time.Sleep(20 * time.Millisecond) {
		entry, _ := decode(g.send(t, show).body)
		flatten("", entry, columns)
	}
	want, got := "", ""
	for line := range strings.Lines(s.text) {
		if path, _, ok := strings.Cut(line, ":"); ok {
			want += line
			got += path + ": " + columns[path] + "\n"
		}
	}
	g.report(t, s, want, got)
}

// flatten stores the text of every value at its path, such as attempts.0.status.
func flatten(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, part := range v {
			flatten(strings.TrimPrefix(path+"."+name, "."), part, into)
		}
	case []any:
		for i, part := range v {
			flatten(fmt.Sprintf("%s.%d", path, i), part, into)
		}
	case nil:
		into[path] = "null"
	default:
		into[path] = fmt.Sprint(v)
	}
}

// placeholders are the values that vary. <id=name> also stores the value as $name.
var (
	placeholder = regexp.MustCompile(`<(id|number|time|any)(?:=(\w+))?>`)
	unquoted    = regexp.MustCompile(`"(<(?:number|time)>)"`) // a number in JSON
	patterns    = map[string]string{
		"id": `[A-Za-z0-9_.-]+`, "number": `-?[0-9]+(?:\.[0-9]+)?`, "time": `(?:"?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"?|[0-9]{10})`, "any": `.*?`,
	}
)

// matches reports whether the text fits, and stores what placeholders capture.
func (g *gateway) matches(want, got string) bool {
	want = unquoted.ReplaceAllString(g.expand(want), "$1")
	pattern, end := "^", 0
	var names []string
	for _, m := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		pattern += regexp.QuoteMeta(want[end:m[0]]) + "(" + patterns[want[m[2]:m[3]]] + ")"
		end, names = m[1], append(names, want[max(m[4], 0):max(m[5], 0)])
	}
	found := regexp.MustCompile(pattern + regexp.QuoteMeta(want[end:]) + "$").FindStringSubmatch(got)
	for i, name := range names {
		if found != nil && name != "" {
			g.vars[name] = found[i+1]
		}
	}
	return found != nil
}

// mask replaces the lines of got that fit a line of want with that line, so that only real differences remain. A line "..." of want
// stands for any lines.
func (g *gateway) mask(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	var masked []string
	for i, line := range wants {
		if strings.TrimSpace(line) == "..." {
			for len(gots) > 0 && (i+1 == len(wants) || !g.matches(wants[i+1], gots[0])) {
				gots = gots[1:]
			}
			masked = append(masked, line)
		} else if len(gots) > 0 {
			if g.matches(line, gots[0]) {
				gots[0] = line
			}
			masked, gots = append(masked, gots[0]), gots[1:]
		}
	}
	return strings.Join(append(masked, gots...), "\n")
}

// canonical formats JSON, also in the data of events. It omits commas at the ends of lines, so that a case can omit the last members.
func canonical(text string) string {
	if value, ok := decode(text); ok {
		text = encode(value, "  ")
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, ",")
		data, isData := strings.CutPrefix(line, "data: ")
		if value, ok := decode(data); ok && isData {
			lines[i] = "data: " + encode(value, "")
		}
	}
	return strings.Join(lines, "\n")
}

func decode(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return value, decoder.Decode(&value) == nil && !decoder.More()
}

func encode(value any, indent string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	_ = encoder.Encode(value) // it was decoded from JSON
	return strings.TrimSpace(b.String())
}
