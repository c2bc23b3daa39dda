package main

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/bench/load"
)

// growing maps each quantity that -growth can increase to the values to measure.
var growing = map[string][]int{
	"prompt": {1, 4, 16, 64, 256, 1024}, "models": {10, 30, 100, 300, 1000}, "policies": {0, 10, 50, 200},
	"keys": {10, 1_000, 100_000, 1_000_000}, "log": {10_000, 100_000, 1_000_000, 10_000_000},
}

// grow measures the cost of a request as one quantity grows and everything else stays the same. At the end it repeats the
// first measurement: if the result differs, the machine's load has changed.
func (b *bench) grow(ctx context.Context, what string) error {
	steps, ok := growing[what]
	if !ok {
		return fmt.Errorf("cannot measure growth of %q: use prompt, models, policies, keys or log", what)
	}
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%-10s %12s %8s %8s\n", what, "CPU µs", "req/s", "MiB")
	for _, n := range append(slices.Clone(steps), steps[0]) {
		d, prompt := deployment{models: 2, policies: 1}, 1
		switch what {
		case "prompt":
			prompt = n
		case "models":
			d.models = n
		case "policies":
			d.policies = n
		case "keys":
			d.keys = n
		case "log":
			d.entries = n
		}
		gateway, err := b.startGateway(ctx, up.at.Address, d)
		if err != nil {
			return err
		}
		one, err := load.Run(ctx, gateway.at, load.Spec{Prompt: prompt << 10, Callers: 16, Warmup: b.warmup, Duration: b.slice})
		if err != nil {
			return err
		}
		b.stopLast()
		fmt.Fprintf(b.out, "%-10d %12.1f %8.0f %8d\n", n, micros(one.Each(one.CPU)), one.Rate(), one.After>>20)
	}
	return nil
}
