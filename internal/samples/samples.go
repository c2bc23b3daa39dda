// Package samples creates sample traffic, so that a new dashboard has data to show: it sends requests to the gateway of this
// process and repeats their log entries over the past two weeks.
package samples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// workers is the number of concurrent sample requests. It is small, so that most of the gateway's capacity stays available to
// clients.
const workers = 6

// Sender sends sample requests in-process, without an API key or a network connection.
type Sender struct {
	Gateway   *gateway.Gateway
	Accounts  *account.Service
	Providers func() []*provider.Provider // the active providers
	Log       requestlog.Reader           // request log; must include requests that have just ended
	Writer    requestlog.Writer
	Versions  replay.Keeper // archive for the sample policies, so that decisions can be verified
}

// Available reports whether the simulator is active.
func (s Sender) Available() bool {
	return slices.ContainsFunc(s.Providers(), func(p *provider.Provider) bool { return p.Simulated })
}

// Send sends every sample request, writes the history, and reports progress in requests.
func (s Sender) Send(ctx context.Context, workspaceID string, progress func(done, total int)) error {
	workspace, err := s.Accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return err
	}
	policies, problems := policy.Parse("sample", []byte(simulator.Policies), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		return fmt.Errorf("parse the sample policies: %s", problems[0])
	}
	if err := replay.Keep(ctx, s.Versions, s.Gateway.Targets(), policies, nil); err != nil {
		return err
	}
	traffic := simulator.Traffic()
	past := newHistory(time.Now(), workspace.EntryRetention)
	total := len(traffic) + past.rows
	var mu sync.Mutex
	var ids []string
	err = sendAll(ctx, traffic, func(ctx context.Context, one simulator.SampleRequest) error {
		id, err := s.send(ctx, &workspace, one, policies)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
		return err
	}, func(done, _ int) { progress(done, total) })
	if err != nil {
		return err
	}
	templates, err := s.entries(ctx, workspaceID, ids)
	if err != nil || len(templates) == 0 {
		return err
	}
	return past.write(ctx, templates, s.Writer, func(written int) { progress(len(traffic)+written, total) })
}

// entries returns the log entries of requests, with their bodies. Requests without an entry are omitted.
func (s Sender) entries(ctx context.Context, workspaceID string, ids []string) ([]requestlog.Entry, error) {
	var all []requestlog.Entry
	for _, id := range ids {
		e, err := s.Log.Entry(ctx, workspaceID, id)
		if errors.Is(err, requestlog.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if e.BodyState == requestlog.BodyStored {
			if e.Body, err = s.Log.EntryBody(ctx, workspaceID, id); err != nil && !errors.Is(err, requestlog.ErrNotFound) {
				return nil, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// sendAll sends the samples concurrently. Calls to progress do not overlap. It stops when ctx is cancelled or at the first error.
func sendAll(ctx context.Context, samples []simulator.SampleRequest, send func(context.Context, simulator.SampleRequest) error, progress func(done, total int)) error {
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

// send makes one request, discards its response, and returns its id.
func (s Sender) send(ctx context.Context, workspace *account.Workspace, one simulator.SampleRequest, policies *policy.Set) (id string, err error) {
	call, disconnect := context.WithCancel(ctx)
	defer disconnect()
	req, err := http.NewRequestWithContext(call, http.MethodPost, "http://gateway.invalid"+modelapi.Prefix+"/"+one.Endpoint, bytes.NewReader(one.Body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead-sample")
	for name, value := range one.Header {
		req.Header.Set(name, value)
	}
	sample := gateway.SampleRequest{Endpoint: one.Endpoint, Key: requestlog.SampleKeys()[one.Key], Models: one.Models, Policies: policies}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Gateway.ServeSampleRequest(w, r, workspace, sample)
	})
	resp, err := simulator.Transport(serve).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	id = resp.Header.Get("X-Request-Id")
	if one.Leaves {
		_, _ = resp.Body.Read(make([]byte, 1))
		return id, nil
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && ctx.Err() != nil {
		return id, ctx.Err()
	}
	return id, nil
}
