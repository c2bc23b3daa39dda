package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlead.dev/internal/admin/overview"
)

const (
	sampleEvery    = 6 * time.Hour
	sampleLifetime = 14 * 24 * time.Hour
	samplesSetting = "storage_samples"
)

// storedSample is the stored form of a sample.
type storedSample struct {
	At    int64 `json:"at"` // time of the sample in Unix milliseconds
	Bytes int64 `json:"bytes"`
}

// Samples returns the database sizes measured in recentSamples days, oldest first.
func (t *databaseTasks) Samples() []overview.StorageSample { return *t.samples.Load() }

// sampleSize stores the database size periodically, so that its growth is known after a restart.
func (t *databaseTasks) sampleSize(ctx context.Context) {
	for {
		wait, err := t.sample(ctx, time.Now())
		t.report("measure storage", err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// sample adds a sample if the last one is old enough. It returns the time until the next sample is due.
func (t *databaseTasks) sample(ctx context.Context, now time.Time) (time.Duration, error) {
	const retryAfter = 10 * time.Minute
	samples, err := t.loadSamples(ctx)
	if err != nil {
		return retryAfter, err
	}
	samples = recentSamples(samples, now)
	if n := len(samples); n > 0 && now.Sub(samples[n-1].At) < sampleEvery {
		t.samples.Store(&samples)
		return sampleEvery - now.Sub(samples[n-1].At), nil
	}
	bytes, err := t.store.Size(ctx)
	if err != nil {
		return retryAfter, err
	}
	samples = append(samples, overview.StorageSample{At: now, Bytes: bytes})
	t.samples.Store(&samples)
	stored := make([]storedSample, len(samples))
	for i, s := range samples {
		stored[i] = storedSample{At: s.At.UnixMilli(), Bytes: s.Bytes}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return sampleEvery, err
	}
	return sampleEvery, t.store.SetSetting(ctx, samplesSetting, string(text))
}

// recentSamples removes old samples and samples in the future, which exist if the clock was set back.
func recentSamples(samples []overview.StorageSample, now time.Time) []overview.StorageSample {
	kept := []overview.StorageSample{}
	for _, s := range samples {
		if age := now.Sub(s.At); age >= 0 && age < sampleLifetime {
			kept = append(kept, s)
		}
	}
	return kept
}

func (t *databaseTasks) loadSamples(ctx context.Context) ([]overview.StorageSample, error) {
	text, err := t.store.Setting(ctx, samplesSetting)
	if err != nil || text == "" {
		return nil, err
	}
	var stored []storedSample
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, fmt.Errorf("decode %s: %w", samplesSetting, err)
	}
	samples := make([]overview.StorageSample, len(stored))
	for i, s := range stored {
		samples[i] = overview.StorageSample{At: time.UnixMilli(s.At), Bytes: s.Bytes}
	}
	return samples, nil
}
