package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDiffSeparatesSettingsThatRequireRestart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change      func(*Config)
		reloadable  []string
		needRestart []string
	}{
		"nothing":             {func(*Config) {}, nil, nil},
		"a list made empty":   {func(c *Config) { c.Models = []Model{} }, nil, nil},
		"policies that moved": {func(c *Config) { c.Policies = "\n\n" + c.Policies + "\n" }, nil, nil},
		"policies":            {func(c *Config) { c.Policies = "policies: [{name: b}]\n" }, []string{"policies"}, nil},
		"ratings":             {func(c *Config) { c.Routing.HalfLife = time.Hour }, []string{"routing.half_life"}, nil},
		"a timeout":           {func(c *Config) { c.Timeouts.Idle = time.Hour }, []string{"timeouts.idle"}, nil},
		"a provider":          {func(c *Config) { c.Providers = []Provider{{Name: "a"}} }, []string{"providers"}, nil},
		"the listener":        {func(c *Config) { c.Listen = ":1" }, nil, []string{"listen"}},
		"the spool":           {func(c *Config) { c.Spool.Limit = MiB; c.Spool.Strict = true }, nil, []string{"spool.limit", "spool.strict"}},
		"some of both":        {func(c *Config) { c.Rescue = "off"; c.Store = "postgres://h/d" }, []string{"rescue"}, []string{"store"}},
		"the log's lines":     {func(c *Config) { c.Log.Level = "debug"; c.Log.Format = "text" }, []string{"log.level"}, []string{"log.format"}},
		"limits and log":      {func(c *Config) { c.Limits.Body = 1; c.Log.Bodies = false }, []string{"limits.body", "log.bodies"}, nil},
		"permissions":         {func(c *Config) { c.AllowBrowsers = true; c.AllowPrivateUpstreams = []string{"::1/128"} }, []string{"allow_browsers", "allow_private_upstreams"}, nil},
		"retries and breaker": {func(c *Config) { c.Retries.Attempts = 1; c.Breaker.Failures = 1 }, []string{"retries.attempts", "breaker.failures"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := Default(), Default()
			before.Policies, after.Policies = "policies: [{name: a}]\n", "policies: [{name: a}]\n"
			c.change(&after)
			reloadable, needRestart := Diff(&before, &after)
			if diff := cmp.Diff([][]string{c.reloadable, c.needRestart}, [][]string{reloadable, needRestart}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeepUntilRestart(t *testing.T) {
	t.Parallel()
	running, next := Default(), Default()
	next.Store, next.Simulator, next.Spool.Limit = "postgres://h/d", "off", MiB
	next.Rescue, next.Limits.Body = "off", 1
	next.Log.Format, next.Log.Level = "text", "debug"
	want := Default()
	want.Rescue, want.Limits.Body, want.Log.Level = "off", 1, "debug"
	KeepUntilRestart(&running, &next)
	if diff := cmp.Diff(want, next); diff != "" {
		t.Error(diff)
	}
}
