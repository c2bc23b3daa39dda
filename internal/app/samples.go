package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead/internal/account"
	"fairlead/internal/gateway"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/simulator"
	"fairlead/internal/simulator/inprocess"
)

// sampleWorkers is how many sample requests are under way at a time: enough to be quick, few enough to leave room.
const sampleWorkers = 6

// sampler sends sample traffic to the gateway of this process, without a key and without a port.
type sampler struct{ app *App }

// Available reports whether the simulator serves.
func (s sampler) Available() bool {
	return slices.ContainsFunc(s.app.fleet.Load().Providers, func(p *provider.Provider) bool { return p.Simulated })
}

// Send sends every sample, a few at a time.
func (s sampler) Send(ctx context.Context, workspaceID string, told func(done, total int)) error {
	workspace, err := s.app.accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return err
	}
	return sendAll(ctx, simulator.Traffic(), func(ctx context.Context, one simulator.Sample) error { return s.send(ctx, &workspace, one) }, told)
}

// sendAll sends samples, a few at a time, and tells one call at a time how many are done. It ends early with ctx, or with
// the first error.
func sendAll(ctx context.Context, samples []simulator.Sample, send func(context.Context, simulator.Sample) error, told func(done, total int)) error {
	var mu sync.Mutex
	done := 0
	told(0, len(samples))
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(sampleWorkers)
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
			told(done, len(samples))
			return nil
		})
	}
	return group.Wait()
}

// send makes one call and reads its answer; what the answer says does not matter here.
func (s sampler) send(ctx context.Context, workspace *account.Workspace, one simulator.Sample) error {
	call, leave := context.WithCancel(ctx)
	defer leave()
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
		s.app.gateway.ServeSample(w, r, workspace, one.Endpoint, one.Models)
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

// eraser deletes entries, those on their way to the log included.
type eraser struct{ app *App }

// DeleteEntries first lets arrive what was received before: what somebody sees live must not come back after deleting.
func (e eraser) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	arriving, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := e.app.spool.Flush(arriving); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	return e.app.db.Log.DeleteEntries(ctx, f, dryRun)
}
