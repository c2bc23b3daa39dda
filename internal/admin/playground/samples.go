package playground

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

const (
	samplesTime  = 2 * time.Minute  // time limit of a run
	samplesStall = 10 * time.Second // time limit for a client to read an event
	samplesWait  = time.Second      // maximum wait for a cancelled run to end
)

// Samples sends sample requests to the simulator.
type Samples interface {
	// Available reports whether the simulator is enabled.
	Available() bool
	// Send creates all sample requests of the workspace and reports progress. It stops when ctx is cancelled.
	Send(ctx context.Context, workspaceID string, onProgress func(done, total int)) error
}

// SampleProgress is the progress of a run.
type SampleProgress struct {
	Done  int `json:"done" doc:"Completed requests, including errors. Some requests are expected to fail."`
	Total int `json:"total"`
}

func (a *handlers) registerSamples() {
	progress := a.Schema(reflect.TypeFor[SampleProgress]())
	adminapi.Register(a.Server, account.ManageWorkspace, huma.Operation{
		OperationID: "create-samples", Method: http.MethodPost, Path: "/samples", Tags: []string{"requests"},
		Summary: "Create sample traffic",
		Description: "Sends varied requests of three sample keys through the model API to the simulator, with a policy that applies only to them, " +
			"and copies their log entries to the past 14 days, including a simulated incident. " +
			"The requests are marked as simulated; delete-requests with simulated=true removes them and their figures. Only one run at a time. " +
			"Sends server-sent events named progress, then done, each with a SampleProgress, or error. Closing the connection ends the run.",
		Responses: map[string]*huma.Response{"200": {Description: "Server-sent events.", Content: map[string]*huma.MediaType{
			"text/event-stream": {Schema: progress},
		}}},
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*huma.StreamResponse, error) {
		if a.Samples == nil || !a.Samples.Available() {
			return nil, llm.Errorf(llm.Conflict, "Sample traffic requires the simulator, which is disabled. Set simulator: \"on\" in the configuration to enable it.")
		}
		if !a.beginSampling(ctx) {
			return nil, llm.Errorf(llm.Conflict, "Sample traffic is already being created. Wait until it is complete.")
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			defer func() { <-a.sampling }()
			out.SetHeader("Content-Type", "text/event-stream")
			out.SetHeader("X-Accel-Buffering", "no")
			out.SetStatus(http.StatusOK)
			a.sendSamples(ctx, c, out)
		}}, nil
	})
}

// beginSampling reserves the only slot for sample runs. It returns false if the slot is in use. It waits briefly for a cancelled
// run to end, because the server detects a disconnect with a delay.
func (a *handlers) beginSampling(ctx context.Context) bool {
	select {
	case a.sampling <- struct{}{}:
		return true
	case <-time.After(samplesWait):
	case <-ctx.Done():
	}
	return false
}

// sendSamples sends the requests until they are done or the client disconnects, and records the result in the audit log.
func (a *handlers) sendSamples(ctx context.Context, c *adminapi.Call, out huma.Context) {
	run, cancel := context.WithTimeout(ctx, samplesTime)
	defer cancel()
	var mu sync.Mutex
	var at SampleProgress
	err := a.Samples.Send(run, c.WorkspaceID, func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		at = SampleProgress{Done: done, Total: total}
		if writeEvent(out, "progress", at) != nil {
			cancel() // the client has disconnected
		}
	})
	if noted := a.Record(context.WithoutCancel(ctx), c.Actor, "requests.sample", "requests", nil, at); err == nil {
		err = noted
	}
	if err != nil {
		e := a.ClientError(ctx, c, err)
		_, _ = fmt.Fprintf(out.BodyWriter(), "event: error\ndata: %s\n\n", c.ErrorBody(e)) // an error means that the client has disconnected
		return
	}
	_ = writeEvent(out, "done", at)
}

func writeEvent(out huma.Context, name string, value any) error {
	data, err := adminapi.Encode(value)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out.BodyWriter(), "event: %s\ndata: %s\n\n", name, data); err != nil {
		return err
	}
	return adminapi.Flush(out.BodyWriter(), samplesStall)
}
