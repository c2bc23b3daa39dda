// Package samples sends sample traffic to the gateway of this process, so that a new dashboard has data to show.
package samples

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlead/internal/account"
	"fairlead/internal/gateway"
	"fairlead/internal/provider"
	"fairlead/internal/simulator"
	"fairlead/internal/simulator/inprocess"
)

// workers is the number of concurrent sample requests. It is small, so that most of the gateway's capacity stays available to
// clients.
const workers = 6

// Sender sends sample requests in-process, without an API key or a network connection.
type Sender struct {
	Gateway   *gateway.Gateway
	Accounts  *account.Service
	Providers func() []*provider.Provider // the active providers
}

// Available reports whether the simulator is active.
func (s Sender) Available() bool {
	return slices.ContainsFunc(s.Providers(), func(p *provider.Provider) bool { return p.Simulated })
}

// Send sends every sample request and reports progress.
func (s Sender) Send(ctx context.Context, workspaceID string, progress func(done, total int)) error {
	workspace, err := s.Accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return err
	}
	return sendAll(ctx, simulator.Traffic(), func(ctx context.Context, one simulator.Sample) error { return s.send(ctx, &workspace, one) }, progress)
}

// sendAll sends the samples concurrently. Calls of progress do not overlap. It stops when ctx is cancelled or at the first error.
func sendAll(ctx context.Context, samples []simulator.Sample, send func(context.Context, simulator.Sample) error, progress func(done, total int)) error {
	var mu sync.Mutex
	done := 0
	progress(0, len(samples))
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, one := range samples {
		group.Go(func() error {
			if sending.Err() != nil {
				return sending.Err()
			}
			if err := send(sending, one); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(samples))
			return nil
		})
	}
	return group.Wait()
}

// send makes one request and discards its response.
func (s Sender) send(ctx context.Context, workspace *account.Workspace, one simulator.Sample) error {
	call, disconnect := context.WithCancel(ctx)
	defer disconnect()
	req, err := http.NewRequestWithContext(call, http.MethodPost, "http://gateway.invalid"+gateway.Prefix+"/"+one.Endpoint, bytes.NewReader(one.Body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead-sample")
	for name, value := range one.Header {
		req.Header.Set(name, value)
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Gateway.ServeSample(w, r, workspace, one.Endpoint, one.Models)
	})
	resp, err := inprocess.Transport(serve).RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if one.Leaves {
		_, _ = resp.Body.Read(make([]byte, 1))
		return nil
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}
