package load

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"fairlead.dev/bench/agent"
)

// AgentSpec describes the traffic of coding agents. All sessions start each turn together, so that the CPU time of the target can be
// attributed to that turn.
type AgentSpec struct {
	Format   string // client format, as named in package agent
	Sessions int    // sessions that run at the same time
	Repeat   int    // consecutive sessions of each caller, not counting the first one, which is the warm-up
	Preface  string // beginning of the instructions
	Fields   string // additional JSON members of the body, each with a trailing comma
}

// AgentResult holds the CPU time that a target used in each turn.
type AgentResult struct {
	Turns    [agent.Turns]time.Duration // CPU time of each turn, summed over all sessions
	Sessions int                        // number of measured sessions
	Took     []time.Duration            // time to the last byte of each turn
	Failures map[string]int
}

// CPU returns the mean CPU time per turn for the turns first to last-1.
func (r AgentResult) CPU(first, last int) time.Duration {
	var sum time.Duration
	for _, one := range r.Turns[first:last] {
		sum += one
	}
	return sum / time.Duration(max(r.Sessions*(last-first), 1))
}

// RunAgent runs sessions of coding agents and measures the target after every turn.
func RunAgent(ctx context.Context, t Target, s AgentSpec) (AgentResult, error) {
	t.Path = strings.TrimSuffix(t.Path, agent.Path(agent.Chat)) + agent.Path(s.Format)
	r := &run{Spec: Spec{Stream: true}, Target: t}
	callers := make([]*caller, s.Sessions)
	for i := range callers {
		callers[i] = idleCaller(r, s.Format, 16<<10)
		defer callers[i].drop()
	}
	seed := uint64(time.Now().UnixMicro()) // use different sessions than the previous run
	var result AgentResult
	for round := range s.Repeat + 1 {
		sessions := make([]*agent.Session, len(callers))
		for i := range sessions {
			seed++
			sessions[i] = agent.New(s.Format, t.Model, s.Preface, s.Fields, seed)
		}
		r.measuring.Store(round > 0)
		if err := result.runSessions(ctx, callers, sessions); err != nil {
			return result, err
		}
	}
	result.Sessions = s.Repeat * s.Sessions
	result.Failures = map[string]int{}
	for _, c := range callers {
		result.Took = append(result.Took, c.took...)
		for what, n := range c.failures {
			result.Failures[what] += n
		}
	}
	if err := wrongResponses(callers); err != nil {
		return result, err
	}
	if want := result.Sessions * agent.Turns; len(result.Took) < want {
		return result, fmt.Errorf("got responses to %d of %d turns: %v", len(result.Took), want, result.Failures)
	}
	return result, nil
}

// runSessions runs one session of each caller, turn by turn.
func (r *AgentResult) runSessions(ctx context.Context, callers []*caller, sessions []*agent.Session) error {
	for turn := range agent.Turns {
		var running sync.WaitGroup
		errs := make([]error, len(callers))
		for i, c := range callers {
			c.request = post(c.Target, sessions[i].Next())
			c.serialAt = nil
		}
		before, err := UsageOf(callers[0].PID)
		if err != nil {
			return err
		}
		for i, c := range callers {
			running.Go(func() { errs[i] = c.call(ctx) })
		}
		running.Wait()
		after, err := UsageOf(callers[0].PID)
		if err != nil {
			return err
		}
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("turn %d: %w", turn+1, err)
			}
		}
		if callers[0].measuring.Load() {
			r.Turns[turn] += after.CPU - before.CPU
		}
	}
	return nil
}

// streamEnd returns text that occurs only in the last event of a stream.
func streamEnd(format string) []byte {
	switch format {
	case agent.Messages:
		return []byte("event: message_stop\n")
	case agent.Responses:
		return []byte("event: response.completed\n")
	}
	return []byte("data: [DONE]\n\n")
}

// ended reports whether a stream contains its last event.
func (c *caller) ended() bool { return bytes.Contains(c.answer, c.end) }
