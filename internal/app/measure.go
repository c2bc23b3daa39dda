package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlead/internal/admin/overview"
)

const (
	measureEvery = 6 * time.Hour
	measureKeep  = 14 * 24 * time.Hour
	sizesSetting = "storage_samples"
)

// size is one sample as it is kept.
type size struct {
	At    int64 `json:"at"` // unix milliseconds
	Bytes int64 `json:"bytes"`
}

// measure notes from time to time how large the database is, so that its growth is known, also over restarts.
func (a *App) measure(ctx context.Context) {
	for {
		wait, err := a.measureOnce(ctx, time.Now())
		a.report("measure storage", err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// measureOnce adds a sample when the last one is old enough, and says when to come back.
func (a *App) measureOnce(ctx context.Context, now time.Time) (time.Duration, error) {
	const soon = 10 * time.Minute // after an error
	known, err := a.readSizes(ctx)
	if err != nil {
		return soon, err
	}
	known = recent(known, now)
	if n := len(known); n > 0 && now.Sub(known[n-1].At) < measureEvery {
		a.sizes.Store(&known)
		return measureEvery - now.Sub(known[n-1].At), nil
	}
	bytes, err := a.db.Size(ctx)
	if err != nil {
		return soon, err
	}
	known = append(known, overview.StorageSample{At: now, Bytes: bytes})
	a.sizes.Store(&known)
	return measureEvery, a.writeSizes(ctx, known)
}

// recent drops samples that are too old, and those that a clock set back has left in the future.
func recent(samples []overview.StorageSample, now time.Time) []overview.StorageSample {
	kept := []overview.StorageSample{}
	for _, s := range samples {
		if age := now.Sub(s.At); age >= 0 && age < measureKeep {
			kept = append(kept, s)
		}
	}
	return kept
}

func (a *App) readSizes(ctx context.Context) ([]overview.StorageSample, error) {
	text, err := a.db.Setting(ctx, sizesSetting)
	if err != nil || text == "" {
		return nil, err
	}
	var kept []size
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, fmt.Errorf("read %s: %w", sizesSetting, err)
	}
	list := make([]overview.StorageSample, len(kept))
	for i, s := range kept {
		list[i] = overview.StorageSample{At: time.UnixMilli(s.At), Bytes: s.Bytes}
	}
	return list, nil
}

func (a *App) writeSizes(ctx context.Context, samples []overview.StorageSample) error {
	kept := make([]size, len(samples))
	for i, s := range samples {
		kept[i] = size{At: s.At.UnixMilli(), Bytes: s.Bytes}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return a.db.SetSetting(ctx, sizesSetting, string(text))
}
