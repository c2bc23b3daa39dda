package gateway_test

import (
	"fmt"
	"math"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/money"
)

func TestUniformHashDependsOnlyOnTheRequestID(t *testing.T) {
	t.Parallel()
	if got := gateway.UniformHash("req_01"); got != gateway.UniformHash("req_01") || got == gateway.UniformHash("req_02") {
		t.Errorf("UniformHash(req_01) = %v, want a constant other than that of req_02", got)
	}
	const n = 20_000
	var sum float64
	var low int
	for i := range n {
		d := gateway.UniformHash(fmt.Sprint("req_", i))
		if d < 0 || d >= 1 {
			t.Fatalf("UniformHash = %v, want a number from 0 to 1", d)
		}
		if d < 0.05 {
			low++
		}
		sum += d
	}
	if mean := sum / n; math.Abs(mean-0.5) > 0.01 || math.Abs(float64(low)/n-0.05) > 0.005 {
		t.Errorf("mean %v, %d of %d below 0.05", sum/n, low, n)
	}
}

// TestComparedShareFollowsTheHash checks that exactly the requests whose hash is below the share are offered for comparison.
func TestComparedShareFollowsTheHash(t *testing.T) {
	t.Parallel()
	chosen := make(offered, 100)
	k := newKit(t, func(k *kit) { k.comparer = chosen })
	k.keys.grant.Workspace.Comparison = &account.Comparison{Share: 0.3, Baseline: "large", Budget: money.Dollar}
	want := map[string]bool{}
	for range 60 {
		got := k.post("/chat/completions", withModel("auto:cost"))
		if got.status != 200 {
			t.Fatalf("status %d, want 200: %s", got.status, got.body)
		}
		id := got.header.Get("X-Request-Id")
		if gateway.UniformHash(id) < 0.3 {
			want[id] = true
		}
		k.entry()
	}
	k.server.Close() // waits for the requests, which are offered after their last byte
	close(chosen)
	n := 0
	for s := range chosen {
		n++
		if !want[s.Call.ID] || s.Other != "large" || s.Model != "small" || s.Propensity != 0.3 || !s.Stored || len(s.Call.Body) == 0 || len(s.Response.Response) == 0 {
			t.Errorf("%+v", s)
		}
	}
	if n != len(want) || n == 0 {
		t.Errorf("%d requests were offered, want %d", n, len(want))
	}
}

// offered collects the requests that were chosen for comparison.
type offered chan *gateway.Served

func (o offered) Offer(s *gateway.Served) { o <- s }
