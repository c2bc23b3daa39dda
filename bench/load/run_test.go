package load

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"
	"time"

	"fairlead/bench/mock"
)

func upstream(t *testing.T, c mock.Config) (*mock.Server, Target) {
	t.Helper()
	s, err := mock.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { l.Close(); s.Close() })
	return s, Target{
		Name: "mock", BaseURL: "http://" + l.Addr().String(), Model: "m", PID: os.Getpid(),
		Headers: map[string]string{"Authorization": "Bearer k"},
	}
}

func TestBody(t *testing.T) {
	for _, n := range []int{1 << 10, 10 << 10, 100 << 10} {
		b := Body("m", n, true)
		if !json.Valid(b) {
			t.Errorf("%d: not JSON", n)
		}
		if len(b) < n || len(b) > n+n/5+300 {
			t.Errorf("%d: %d bytes", n, len(b))
		}
	}
}

func TestClosedAndOpenLoop(t *testing.T) {
	s, target := upstream(t, mock.Default())
	for name, spec := range map[string]Spec{
		"closed": {Concurrency: 4, PromptBytes: 1 << 10},
		"open":   {Concurrency: 16, PromptBytes: 1 << 10, Rate: 500},
		"stream": {Concurrency: 4, PromptBytes: 10 << 10, Stream: true},
	} {
		spec.Warmup, spec.Duration = 50*time.Millisecond, 300*time.Millisecond
		res, err := Run(context.Background(), target, spec)
		if err != nil {
			t.Fatal(name, err)
		}
		if res.Errors != 0 || res.Requests < 50 || res.Latency.P50 <= 0 || res.CPUSeconds <= 0 || res.RSSMax <= 0 {
			t.Errorf("%s: %+v", name, res)
		}
		if spec.Rate > 0 && (res.RPS < 250 || res.RPS > 750) {
			t.Errorf("%s: %v requests a second", name, res.RPS)
		}
		if spec.Stream && (res.TTFT.Count == 0 || res.Chunks < 20 || res.ChunkDelay.P50 <= 0) {
			t.Errorf("%s: %+v", name, res)
		}
	}
	if st := s.Stats(); st.Failures != 0 {
		t.Errorf("%+v", st)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	for _, kind := range []string{mock.Fail500, mock.Fail429, mock.FailCut} {
		for _, stream := range []bool{false, true} {
			c := mock.Default()
			c.FailEvery, c.FailKind = 4, kind
			_, target := upstream(t, c)
			res, err := Run(context.Background(), target, Spec{Concurrency: 2, PromptBytes: 100, Stream: stream, Duration: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if share := float64(res.Errors) / float64(res.Errors+res.Requests); share < .2 || share > .3 {
				t.Errorf("%s stream=%v: %v of requests failed: %v", kind, stream, share, res.ErrorsBy)
			}
		}
	}
}

func TestHold(t *testing.T) {
	c := mock.Default()
	c.Chunks, c.GapMS = 10_000, 20
	s, target := upstream(t, c)
	res, err := Run(context.Background(), target, Spec{
		Concurrency: 50, PromptBytes: 100, Stream: true, Hold: true,
		Warmup: 200 * time.Millisecond, Duration: 400 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Open != 50 || res.Errors != 0 || res.Chunks < 50*10 || res.TTFT.Count != 50 {
		t.Errorf("%+v", res)
	}
	for end := time.Now().Add(3 * time.Second); s.Stats().ActiveStreams > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("streams still open: %+v", s.Stats())
		}
	}
}
