package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead/bench/load"
)

// grow measures what a request costs Fairlead as one thing grows and all else stays.
func (b *bench) grow(ctx context.Context, what string) error {
	steps, ok := map[string][]int{
		"prompt": {1, 4, 16, 64, 256}, "models": {2, 10, 30, 60}, "policies": {0, 10, 50, 200}, "keys": {0, 100, 300}, "log": {0, 20_000, 60_000},
	}[what]
	if !ok {
		return fmt.Errorf("%q does not grow here; prompt, models, policies, keys and log do", what)
	}
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%-10s %12s %8s\n", what, "CPU µs", "req/s")
	var gateway *server
	for _, n := range steps {
		d := deployment{models: 2, policies: 1}
		switch what {
		case "models":
			d.models = n
		case "policies":
			d.policies = n
		case "keys":
			d.keys = n
		}
		if gateway == nil || slices.Contains([]string{"models", "policies", "keys"}, what) {
			if gateway, err = b.startGateway(ctx, up.at.Address, d); err != nil {
				return err
			}
		}
		size := 1 << 10
		if what == "prompt" {
			size = n << 10
		}
		if what == "log" {
			if err := b.fill(ctx, gateway, n); err != nil {
				return err
			}
		}
		one, err := load.Run(ctx, gateway.at, load.Spec{Prompt: size, Callers: 16, Warmup: b.warmup, Duration: b.slice})
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "%-10s %12.1f %8.0f\n", fmt.Sprint(n)+strings.Repeat(" KB", btoi(what == "prompt")), micros(one.Each(one.CPU)), one.Rate())
	}
	return nil
}

// fill sends requests until the log has about n more.
func (b *bench) fill(ctx context.Context, s *server, n int) error {
	for sent := 0; sent < n; {
		one, err := load.Run(ctx, s.at, load.Spec{Prompt: 1 << 10, Callers: 32, Duration: b.slice})
		if err != nil {
			return err
		}
		sent += one.Requests
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
