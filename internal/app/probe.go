package app

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/providerset"
)

const (
	// idleAfter is how long a due probe waits for a request before idleProbes makes a test call instead. It is also the interval of
	// these calls.
	idleAfter = 30 * time.Second
	// maxIdlePause is the maximum time between two test calls of a provider while they fail.
	maxIdlePause = 15 * time.Minute
)

// idleProbes tests targets with an open circuit that receive no requests. Otherwise their circuits would stay open after an outage.
type idleProbes struct {
	health *health.Tracker
	client *egress.Client
	pauses map[string]idlePause // by provider
}

type idlePause struct {
	length time.Duration
	end    time.Time
}

func (a *App) probeIdleTargets(ctx context.Context) {
	p := idleProbes{a.health, a.egress, map[string]idlePause{}}
	tick := time.NewTicker(idleAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.run(ctx, a.providers.Load().Providers)
		}
	}
}

// run tests at most one target of each provider. The model list is free of charge, but it does not prove that the target works, so traffic
// returns gradually.
func (i *idleProbes) run(ctx context.Context, list []*provider.Provider) {
	tested := map[string]bool{}
	for _, h := range i.health.Snapshot() {
		at := slices.IndexFunc(list, func(p *provider.Provider) bool {
			return slices.ContainsFunc(p.Targets, func(t *provider.Target) bool { return t.ID() == h.Target })
		})
		now := time.Now()
		if at < 0 || ctx.Err() != nil || h.Circuit != "open" || now.Sub(h.NextProbe) < idleAfter {
			continue
		}
		p := list[at]
		if tested[p.Name] || p.ModelsPath == "" || now.Before(i.pauses[p.Name].end) {
			continue
		}
		tested[p.Name] = true
		i.probe(ctx, p, h.Target)
	}
}

func (i *idleProbes) probe(ctx context.Context, p *provider.Provider, target string) {
	var ids []string
	for _, c := range p.Credentials {
		ids = append(ids, c.ID)
	}
	pass, ok := i.health.Admit(target, ids, false)
	if !ok {
		return
	}
	one := *p // with only the admitted credential
	one.Credentials = slices.DeleteFunc(slices.Clone(p.Credentials), func(c provider.Credential) bool { return c.ID != pass.Credential })
	result := providerset.Probe(ctx, i.client, &one)
	report := health.Report{Target: target, Credential: pass.Credential, Probe: pass.Probe}
	if result.OK {
		delete(i.pauses, p.Name)
	} else {
		now, last := time.Now(), i.pauses[p.Name]
		if now.Sub(last.end) > maxIdlePause { // from an earlier outage
			last = idlePause{}
		}
		length := min(max(2*last.length, idleAfter), maxIdlePause)
		i.pauses[p.Name] = idlePause{length, now.Add(length)}
		// A refused model list says nothing about the target.
		report.Err = llm.Errorf(llm.ClientCancelled, "%s", result.Error)
		if result.Cause != nil {
			report.Err = llm.AsError(result.Cause)
		} else if result.Status >= 500 {
			report.Err.Kind = llm.UpstreamServer
		}
	}
	i.health.Report(report)
}
