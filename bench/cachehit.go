package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"fairlead.dev/bench/load"
)

// bare is the name of a server that answers every request with the same bytes.
const bare = "bare"

// serveBare runs a net/http handler that reads the request and sends a fixed response, which serveBare fetched from the upstream when it
// started. The handler does nothing else, so its cost is that of the standard library's server, which every cache hit includes.
func serveBare(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("bare requires one argument: the address of the upstream")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+args[0]+"/v1/chat/completions", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the upstream returned status %d: %.200s", resp.StatusCode, answer)
	}
	return serveHTTP(ctx, out, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // callers disconnect at the end of a run
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

// measureHits compares the cost of a response cache hit in Fairlead with the costs of a bare handler, the minimal proxy and an uncached
// request. Each round measures all of them.
func (b *bench) measureHits(ctx context.Context) error {
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return err
	}
	handler, err := b.startSelf(ctx, bare, up.at.Address)
	if err != nil {
		return err
	}
	proxy, err := b.startSelf(ctx, floor, up.at.Address)
	if err != nil {
		return err
	}
	cached, err := b.startGateway(ctx, up.at.Address, deployment{models: 2, policies: 1, cached: true})
	if err != nil {
		return err
	}
	named := *cached
	cached.name, named.name, named.at.Model = "hit, auto", "hit, named", "model-0"
	missing := *cached
	missing.name = "miss, auto"
	select { // wait until startup is complete
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startUp):
	}
	servers, got := []*server{handler, proxy, cached, &named, &missing}, results{}
	for round := range b.rounds {
		for i := range servers {
			s := servers[(i+round)%len(servers)]
			spec := load.Spec{Callers: 16, Prompt: 1 << 10, Same: s != &missing, Warmup: b.warmup, Duration: b.slice}
			if err := b.runWorkload(ctx, s, workload{"cache-hit", spec}, got); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(b.out, "\n%-12s %10s\n", "server", "CPU µs")
	for _, s := range servers {
		fmt.Fprintf(b.out, "%-12s %10.1f\n", s.name, median(got["cache-hit"][s.name], func(r load.Result) float64 { return micros(r.Each(r.CPU)) }))
	}
	return nil
}
