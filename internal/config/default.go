package config

import (
	"time"
)

// Default returns the default configuration. DataDir is empty, because Load derives it from the environment.
func Default() Config {
	return Config{
		Listen:       "127.0.0.1:8080",
		Store:        "sqlite",
		Registration: "invitation",
		Accounts:     Accounts{MaxWorkspaces: 20, MaxKeys: 200},
		SSO: SSO{
			Name: "single sign-on", Scopes: []string{"openid", "email", "profile", "offline_access"}, GroupsClaim: "groups", SignIn: "any",
			Recheck: 30 * time.Second,
		},
		Detect:    true,
		Simulator: "auto",
		Timeouts: Timeouts{
			Connect:             5 * time.Second,
			FirstToken:          10 * time.Second,
			FirstTokenReasoning: 60 * time.Second,
			Idle:                30 * time.Second,
			Total:               10 * time.Minute,
		},
		Retries: Retries{Attempts: 3, Backoff: 250 * time.Millisecond},
		Breaker: Breaker{Failures: 5, ProbeAfter: 3 * time.Second},
		Rescue:  "continue",
		Catalog: Catalog{Discover: 6 * time.Hour},
		Routing: Routing{HalfLife: 30 * Day},
		Headers: Headers{Size: 64 * KiB, Time: 10 * time.Second},
		Limits: Limits{
			Body:       32 * MiB,
			Buffered:   512 * MiB,
			Answer:     64 * MiB,
			EventLine:  16 * MiB,
			Concurrent: 4096,
			Wait:       25 * time.Millisecond,
			ShedAfter:  100 * time.Millisecond,
			BodyPause:  15 * time.Second,
			ReadPause:  time.Minute,
		},
		Realtime: Realtime{Message: 16 * MiB, Idle: 10 * time.Minute, Total: time.Hour},
		Log: Log{
			Bodies:         true,
			BodyLimit:      MiB,
			EntryRetention: 90 * Day,
			BodyRetention:  30 * Day,
			Level:          "info",
			Format:         "auto",
		},
		ResponseCache: ResponseCache{Memory: 64 * MiB, Redis: 256 * MiB, Entry: MiB},
		Spool:         Spool{Limit: 256 * MiB},
		Alerts:        Alerts{SMTP: SMTP{TLS: "starttls"}},
		Telemetry:     Telemetry{Protocol: "auto", Traces: true, Metrics: true, SampleRatio: 1},
	}
}
