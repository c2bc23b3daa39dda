// Package replicas tests three gateways with one PostgreSQL and one Redis, all of them real processes: what must hold over
// all of them together, and while Redis is away. Each function tries one promise, hard or fast, and returns what it measured.
package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/internal/mockprovider"
	"fairlead/internal/replica/redistest"
	"fairlead/internal/store/pgtest"
	"fairlead/test/harness"
)

const replicas = 3

// world is the deployment.
type world struct {
	gateways []*harness.Gateway
	database []*harness.Forward // each gateway's way to PostgreSQL
	redis    *redistest.Server  // nil without one
	mock     *mockprovider.Mock
	client   *http.Client
}

// start runs three gateways. Each reaches PostgreSQL by a way of its own, which can be cut.
func start(t *testing.T, withRedis bool) *world {
	t.Helper()
	mock, upstream := harness.Upstream(t)
	fee := harness.Chat("fee", 0, 0, 0.5)
	fee.PerRequest = new(0.001)
	lines := []string{"master_key: " + strings.Repeat("0123456789abcdef", 4), "timeouts: {idle: 60s}", "log: {bodies: false, level: warn}"}
	w := &world{mock: mock, client: newClient(t)}
	if withRedis {
		w.redis = redistest.Own(t)
		lines = append(lines, "redis: "+w.redis.URL())
	}
	address, err := url.Parse(pgtest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	models := []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5), fee}
	for range replicas {
		way := harness.NewForward(t, address.Host)
		way.Up(t)
		through := *address
		through.Host = way.Address()
		g := harness.Start(t, harness.Options{
			Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: upstream, Models: models}}, append(lines, "store: "+through.String())...),
			Listen: harness.FreeAddress(t), Early: true, // a log without its first lines does not tell the address
		})
		harness.Eventually(t, "the gateway is ready", func() bool {
			return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Status == http.StatusOK
		})
		w.gateways, w.database = append(w.gateways, g), append(w.database, way)
	}
	return w
}

func newClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// key is an API key as the command line tells it.
type key struct {
	ID   string `json:"id"`
	Text string `json:"key"`
}

var keyNumber atomic.Int64

// newKey makes a key and waits until every replica knows it.
func (w *world) newKey(t *testing.T, flags ...string) key {
	t.Helper()
	stdout, stderr, code := w.gateways[0].CLI(t, append([]string{"keys", "create", "--name", fmt.Sprintf("k%d", keyNumber.Add(1)), "--json"}, flags...)...)
	if code != 0 {
		t.Fatalf("make a key: %d\n%s", code, stderr)
	}
	var k key
	harness.Decode(t, []byte(stdout), &k)
	for i := range w.gateways {
		harness.Eventually(t, "the key is known", func() bool { return w.accepts(t, i, k) })
	}
	return k
}

// accepts says whether a replica takes a key.
func (w *world) accepts(t *testing.T, i int, k key) bool {
	t.Helper()
	status := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text}).Status
	return status != http.StatusUnauthorized
}

func chat(model string, more ...string) string {
	members := append([]string{`"model":"` + model + `"`, `"messages":[{"role":"user","content":"Hello"}]`, `"max_tokens":10`}, more...)
	return "{" + strings.Join(members, ",") + "}"
}

// post sends a request to a replica and returns status, error code and how long it took. A broken connection fails the test.
func (w *world) post(t *testing.T, i int, k key, body string) (status int, code string, took time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.gateways[i].BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, "", 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+k.Text)
	began := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		t.Errorf("replica %d: %v", i, err)
		return 0, "", time.Since(began)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("replica %d: %v", i, err)
	}
	var failure struct{ Code string }
	if resp.StatusCode != http.StatusOK && json.Unmarshal(data, &failure) != nil {
		t.Errorf("replica %d: %d %s", i, resp.StatusCode, data)
	}
	return resp.StatusCode, failure.Code, time.Since(began)
}

// tally counts answers by their code; those of served requests have none.
type tally struct {
	mu    sync.Mutex
	codes map[string]int
	took  []time.Duration
}

func (c *tally) add(status int, code string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = map[string]int{}
	}
	if status == http.StatusOK {
		code = "served"
	}
	c.codes[code]++
	c.took = append(c.took, took)
}

func (c *tally) of(code string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.codes[code]
}

// others lists codes that are not expected.
func (c *tally) others(expected ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for code, n := range c.codes {
		known := false
		for _, e := range expected {
			known = known || e == code
		}
		if !known {
			list = append(list, fmt.Sprintf("%d %s", n, code))
		}
	}
	return list
}

// atOnce sends n requests over all replicas, some at a time.
func (w *world) atOnce(t *testing.T, width, n int, k key, body string) *tally {
	t.Helper()
	var c tally
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(width, n) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				c.add(w.post(t, int(i)%replicas, k, body))
			}
		})
	}
	all.Wait()
	return &c
}

// pick is the number for the size.
func pick(full bool, fast, whole int) int {
	if full {
		return whole
	}
	return fast
}
