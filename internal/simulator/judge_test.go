package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/simulator"
)

// asking returns a function that asks a simulated model.
func asking(s *simulator.Simulator) judge.Ask {
	return func(ctx context.Context, p judge.Prompt) (string, error) {
		body, err := json.Marshal(map[string]any{"model": "sim-flagship", "messages": []map[string]string{
			{"role": "system", "content": p.System}, {"role": "user", "content": p.User},
		}})
		if err != nil {
			return "", err
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
		response, ok := judge.ParseResponse(w.Body.Bytes())
		if !ok {
			return "", fmt.Errorf("status %d: %s", w.Code, w.Body)
		}
		return response.Text, nil
	}
}

func TestBiasOfSimulatedJudgesIsMeasured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		judging simulator.Judging
		refused string // part of the expected reason; empty if the judge is accepted
	}{
		"unbiased":             {simulator.Judging{}, ""},
		"slight position bias": {simulator.Judging{PositionBias: 0.15}, ""},
		"position bias":        {simulator.Judging{PositionBias: 0.8}, "position"},
		"length bias":          {simulator.Judging{LengthBias: 0.9}, "%"},
		"family bias":          {simulator.Judging{FamilyBias: 1}, "own responses"},
	} {
		got, err := judge.Measure(t.Context(), asking(simulator.NewSimulator(simulator.Options{Judging: tc.judging})))
		if err != nil {
			t.Fatal(name, err)
		}
		if (got.Refused == "") != (tc.refused == "") || !strings.Contains(got.Refused, tc.refused) {
			t.Errorf("%s: result %+v, want it refused because of %q", name, got, tc.refused)
		}
		if math.Abs(got.Corrected) >= 2 && tc.judging.LengthBias == 0 {
			t.Errorf("%s: bias of %v points after judging in both orders, want less than 2", name, got.Corrected)
		}
		if biased := math.Abs(got.Position) > 5; biased != (tc.judging.PositionBias > 0) {
			t.Errorf("%s: measured position bias of %v points with a bias of %v", name, got.Position, tc.judging.PositionBias)
		}
	}
}

// TestSimulatedDifferenceIsMeasured compares many simulated responses with a biased judge. Swapping the order keeps the sign and
// most of the size of the true difference, and removes the bias.
func TestSimulatedDifferenceIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	for _, tc := range []struct{ difference, bias float64 }{{0, 0}, {0.3, 0}, {-0.3, 0}, {0, 0.2}, {0.3, 0.2}} {
		ask := asking(simulator.NewSimulator(simulator.Options{Judging: simulator.Judging{Difference: tc.difference, PositionBias: tc.bias}}))
		const n = 1000
		sum := 0.0
		for i := range n {
			x := &judge.Exchange{
				Request:  fmt.Appendf(nil, `{"messages":[{"role":"user","content":"question %d"}]}`, i),
				Routed:   judge.Response{Text: "(SIMULATED by sim-flagship)"},
				Baseline: judge.Response{Text: "(SIMULATED by sim-nano)"},
			}
			v, err := judge.Compare(t.Context(), ask, x, true)
			if err != nil {
				t.Fatal(err)
			}
			sum += v.Difference
		}
		want := tc.difference * (1 - tc.bias)
		if got := sum / n; math.Abs(got-want) > 0.06 {
			t.Errorf("difference %v with a position bias of %v: measured %v, want %v", tc.difference, tc.bias, got, want)
		}
	}
}
