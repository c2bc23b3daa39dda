package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"fairlead.dev/bench/agent"
	"fairlead.dev/bench/load"
	"fairlead.dev/internal/simulator"
)

// agentResults holds the results of all runs, by format and server name.
type agentResults map[string]map[string][]load.AgentResult

// measureAgents runs sessions of coding agents in every client format and alternates between the servers. It prints the mean CPU time
// per turn and the growth of this time during a session. Fairlead has one provider for each format.
func (b *bench) measureAgents(ctx context.Context) ([]figure, error) {
	if len(b.only) > 0 && !slices.Contains(b.only, "agent") {
		return nil, nil
	}
	servers, err := b.startAll(ctx, agentDeployment)
	if err != nil {
		return nil, err
	}
	defer b.stopAll()
	got, err := b.runAgents(ctx, servers)
	if err != nil {
		return nil, err
	}
	return b.reportAgents(got), nil
}

// agentDeployment configures one provider for each format.
var agentDeployment = deployment{models: 2, policies: 1, formats: agent.Formats()}

// runAgents runs the sessions of every format on every server.
func (b *bench) runAgents(ctx context.Context, servers []*server) (agentResults, error) {
	got := agentResults{}
	for round := range b.rounds {
		for _, format := range agent.Formats() {
			pace := simulator.Pace{First: 2 * time.Millisecond, Gap: time.Millisecond, Chunks: 20, Format: path.Base(agent.Path(format))}
			spec := load.AgentSpec{Format: format, Sessions: 8, Repeat: b.sessions, Preface: pace.String(), Fields: fmt.Sprintf(`"provider":{"only":[%q]},`, "mock-"+format)}
			for i := range servers {
				s := servers[(i+round)%len(servers)]
				one, err := load.RunAgent(ctx, s.at, spec)
				if err != nil {
					return nil, fmt.Errorf("agent, %s on %s: %w", format, s.name, err)
				}
				if got[format] == nil {
					got[format] = map[string][]load.AgentResult{}
				}
				got[format][s.name] = append(got[format][s.name], one)
				fmt.Fprintf(b.out, "agent       %-9s %-9s %8.1f µs CPU per turn  failures %v\n", format, s.name, micros(one.CPU(0, agent.Turns)), one.Failures)
			}
		}
	}
	return got, nil
}

// compareAgents measures sessions of coding agents on two builds of Fairlead and on the minimal proxy. All three
// run at the same time.
func (b *bench) compareAgents(ctx context.Context, builds []string) error {
	defer b.stopAll()
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return err
	}
	least, err := b.startSelf(ctx, "floor", up.at.Address)
	if err != nil {
		return err
	}
	servers := []*server{least}
	for _, build := range builds {
		b.binary = build
		gateway, err := b.startGateway(ctx, up.at.Address, agentDeployment)
		if err != nil {
			return err
		}
		gateway.name = build
		servers = append(servers, gateway)
	}
	time.Sleep(startUp)
	got, err := b.runAgents(ctx, servers)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "\nCPU µs per turn of an agent\t%s\t%s\t%s\tratio\n", floor, builds[0], builds[1])
	for _, format := range agent.Formats() {
		var each []float64
		for _, s := range servers {
			values := make([]float64, 0, b.rounds)
			for _, r := range got[format][s.name] {
				values = append(values, micros(r.CPU(0, agent.Turns)))
			}
			each = append(each, middle(values))
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.0f (%.2f×)\t%.0f (%.2f×)\t%.2f\n", format, each[0], each[1], each[1]/each[0], each[2], each[2]/each[0], each[2]/each[1])
	}
	return t.Flush()
}

// reportAgents prints each server's CPU time per turn and returns the figures.
func (b *bench) reportAgents(got agentResults) (figures []figure) {
	const group = 8 // number of turns per column of the table
	t := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	var columns []string
	for first := 0; first < agent.Turns; first += group {
		columns = append(columns, fmt.Sprintf("turns %d-%d", first+1, first+group))
	}
	fmt.Fprintf(t, "\nCPU µs per turn of an agent\tmean\t%s\n", strings.Join(columns, "\t"))
	for _, format := range agent.Formats() {
		mean := func(server string, first, last int) float64 {
			values := make([]float64, 0, b.rounds)
			for _, r := range got[format][server] {
				values = append(values, micros(r.CPU(first, last)))
			}
			return middle(values)
		}
		var added []float64
		for _, server := range []string{nginx, floor, fairlead} {
			fmt.Fprintf(t, "%s, %s\t%.0f", format, server, mean(server, 0, agent.Turns))
			for first := 0; first < agent.Turns; first += group {
				fmt.Fprintf(t, "\t%.0f", mean(server, first, first+group))
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "%s, fairlead above floor\t%.0f", format, mean(fairlead, 0, agent.Turns)-mean(floor, 0, agent.Turns))
		for first := 0; first < agent.Turns; first += group {
			added = append(added, mean(fairlead, first, first+group)-mean(floor, first, first+group))
			fmt.Fprintf(t, "\t%.0f", added[len(added)-1])
		}
		fmt.Fprintln(t)
		figures = append(figures,
			figure{"CPU per turn of an agent, " + format + ", of the floor's", mean(fairlead, 0, agent.Turns) / mean(floor, 0, agent.Turns), "×", 1.7, 1.4, false},
			figure{"  its last turns, without the floor's part, of its first", added[len(added)-1] / added[0], "×", 1.2, 1.1, false})
	}
	_ = t.Flush()
	return figures
}
