// Package replicas holds the fault cases about several replicas, shared budgets and accounting.
package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Cases lists the cases with several gateways, one PostgreSQL and one Redis, all of them real processes.
func Cases() []scenario.Case {
	return []scenario.Case{
		{ID: "F11", Name: "concurrent requests on a small budget, replicas", Run: sharedBudget},
		{ID: "F15r", Name: "edits during load, replicas", Run: editsOverReplicas},
		{ID: "F27r", Name: "a failing target, reported to other replicas", Run: hintsOverReplicas},
		{ID: "F33r", Name: "revocation across replicas", Run: revocationEverywhere},
		{ID: "F35", Name: "Redis killed under load", Run: redisKilled},
		{ID: "F36", Name: "a slow Redis", Run: redisSlow},
		{ID: "F37", Name: "a rate limit across replicas", Run: sharedRate},
		{ID: "F63", Name: "one session over two replicas", Run: sharedSession},
		{ID: "P03", Name: "holds of a crashed replica", Run: crashedHolds},
		{ID: "P10", Name: "Redis lost while a budget is in use", Run: budgetWithoutRedis},
		{ID: "P10b", Name: "both stores lost", Run: bothStoresGone},
		{ID: "P10c", Name: "one replica disconnected from Redis", Run: oneCutOff},
		{ID: "P18", Name: "rolling restart under load", Run: rollingRestart},
	}
}

const replicas = 3

// deployment is a deployment with several gateways.
type deployment struct {
	gateways []*harness.Gateway
	database []scenario.Proxy  // connection of each gateway to PostgreSQL
	toRedis  []scenario.Proxy  // connection of each gateway to Redis, if any
	redis    *redistest.Server // server of the shared Redis; nil without Redis
	mock     *simulator.Mock
	client   *http.Client

	restarting atomic.Bool // whether a gateway is restarting; meanwhile, a connection may close while a request is sent
}

// setting holds the options of a deployment.
type setting struct {
	noRedis bool
	bodies  bool // whether bodies are stored
}

// startReplicas starts three gateways. Each has its own connections to PostgreSQL and Redis, which can be cut.
func startReplicas(t *testing.T, s setting) *deployment {
	t.Helper()
	mock, upstream := harness.Upstream(t)
	fee := harness.Chat("fee", 0, 0, 0.5)
	fee.PerRequest = new(0.001)
	models := []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5), fee}
	w, database := &deployment{mock: mock, client: scenario.Client(t)}, pgtest.Start(t)
	if !s.noRedis {
		w.redis = redistest.Own(t)
	}
	for range replicas {
		toDatabase, address := throughProxy(t, database)
		w.database = append(w.database, toDatabase)
		lines := []string{"master_key: " + strings.Repeat("0123456789abcdef", 4), "timeouts: {idle: 60s}", fmt.Sprintf("log: {bodies: %t, level: warn}", s.bodies), "store: " + address}
		if w.redis != nil {
			toRedis, address := throughProxy(t, w.redis.URL())
			w.toRedis, lines = append(w.toRedis, toRedis), append(lines, "redis: "+address)
		}
		w.gateways = append(w.gateways, harness.Start(t, harness.Options{
			Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: upstream, Models: models}}, lines...),
			Listen: harness.FreeAddress(t), Early: true, // at log level warn, the log does not contain the address
		}))
		w.untilReady(t, len(w.gateways)-1)
	}
	return w
}

// throughProxy starts a proxy to the server in a URL and returns the URL with the address of the proxy.
func throughProxy(t *testing.T, target string) (scenario.Proxy, string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := scenario.NewProxy(t, u.Host)
	u.Host = p.Listen
	return p, u.String()
}

// untilReady waits until a replica is ready and, if Redis is configured, uses Redis.
func (w *deployment) untilReady(t *testing.T, i int) {
	t.Helper()
	harness.Eventually(t, "the gateway is ready", func() bool {
		a := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"})
		var ready struct {
			Checks []struct{ Name, Note string }
		}
		if err := json.Unmarshal(a.Body, &ready); err != nil {
			return false // the gateway is not listening yet
		}
		withoutRedis := false
		for _, c := range ready.Checks {
			withoutRedis = withoutRedis || c.Name == "redis" && c.Note != ""
		}
		return a.Status == http.StatusOK && !withoutRedis
	})
}

// newKey creates a key and waits until every replica accepts it.
func (w *deployment) newKey(t *testing.T, flags ...string) harness.Key {
	t.Helper()
	k := w.gateways[0].NewKey(t, flags...)
	for i := range w.gateways {
		harness.Eventually(t, "the replica accepts the key", func() bool { return w.accepts(t, i, k) })
	}
	return k
}

// accepts reports whether a replica accepts a key.
func (w *deployment) accepts(t *testing.T, i int, k harness.Key) bool {
	t.Helper()
	status := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text}).Status
	return status != http.StatusUnauthorized
}

// short returns a request for a short response.
func short(model string, more ...string) string {
	return scenario.Chat(model, append([]string{`"max_tokens":10`}, more...)...)
}

// reply is the result of one request.
type reply struct {
	status int
	code   string // error code; "served" for a success
	took   time.Duration
	unsent bool // whether the connection failed
}

// send sends a request to a replica. A broken connection fails the test, unless replicas are being restarted and no
// part of a response has arrived.
func (w *deployment) send(t *testing.T, i int, k harness.Key, body string) reply {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := scenario.Post(ctx, w.gateways[i], k.Text, body)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	began := time.Now()
	resp, err := w.client.Do(req)
	if unconnected(err) || (err != nil && w.restarting.Load()) {
		return reply{unsent: true, code: "unsent"}
	}
	if err != nil {
		t.Errorf("send to replica %d: %v", i, err)
		return reply{code: "broken"}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	r := reply{status: resp.StatusCode, code: "served", took: time.Since(began)}
	var f scenario.Failure
	switch {
	case err != nil:
		t.Errorf("read the response of replica %d: %v", i, err)
		r.code = "broken"
	case r.status != http.StatusOK && json.Unmarshal(data, &f) != nil:
		t.Errorf("replica %d: status %d without an error object: %s", i, r.status, scenario.Clip(data))
		r.code = "unreadable"
	case r.status != http.StatusOK:
		r.code = f.Code
	}
	return r
}

// tally counts responses by code.
type tally struct {
	mu    sync.Mutex
	codes map[string]int
	took  []time.Duration
}

func (c *tally) add(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = map[string]int{}
	}
	c.codes[r.code]++
	c.took = append(c.took, r.took)
}

// of returns the number of responses with a code.
func (c *tally) of(code string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.codes[code]
}

// others lists the unexpected codes.
func (c *tally) others(expected ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for code, n := range c.codes {
		if !slices.Contains(expected, code) {
			list = append(list, fmt.Sprintf("%d %s", n, code))
		}
	}
	return list
}

// burst sends n requests, spread over all replicas. At most width requests run at a time.
func (w *deployment) burst(t *testing.T, width, n int, k harness.Key, body string) *tally {
	t.Helper()
	var c tally
	scenario.Together(width, n, func(i int) { c.add(w.send(t, i%replicas, k, body)) })
	return &c
}

// pace sends requests at a constant rate over all replicas until ctx is done, and waits for the last response.
func (w *deployment) pace(ctx context.Context, t *testing.T, every time.Duration, k harness.Key, body string) *tally {
	var c tally
	var all sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			all.Wait()
			return &c
		case <-tick.C:
			all.Go(func() { c.add(w.send(t, i%replicas, k, body)) }) //nolint:contextcheck // running requests end by themselves
		}
	}
}
