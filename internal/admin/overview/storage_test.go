package overview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/provider"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	day = 24 * time.Hour
)

func TestStorageNeedsAttentionBeforeItIsFull(t *testing.T) {
	t.Parallel()
	type fact struct{ Object, Severity string }
	for _, test := range []struct {
		name string
		use  DiskUse
		want []fact
	}{
		{"enough space", DiskUse{FreeBytes: 50 * gib, TotalBytes: 1000 * gib, SpoolBytes: 1, SpoolLimit: gib}, nil},
		{"unknown sizes", DiskUse{FreeBytes: -1, TotalBytes: -1}, nil},
		{"a large disk with little left", DiskUse{FreeBytes: 2*gib - 1, TotalBytes: 1000 * gib}, []fact{{"disk", "warning"}}},
		{"a large disk with almost nothing left", DiskUse{FreeBytes: 255 * mib, TotalBytes: 1000 * gib}, []fact{{"disk", "error"}}},
		{"a small disk that is mostly free", DiskUse{FreeBytes: gib, TotalBytes: 2 * gib}, nil},
		{"a small disk with little left", DiskUse{FreeBytes: 50 * mib, TotalBytes: 2 * gib}, []fact{{"disk", "warning"}}},
		{"the queue is filling", DiskUse{FreeBytes: -1, SpoolBytes: 80, SpoolLimit: 100}, []fact{{"spool", "warning"}}},
		{"the queue is full", DiskUse{FreeBytes: -1, SpoolBytes: 100, SpoolLimit: 100}, []fact{{"spool", "error"}}},
		{"rejected entries", DiskUse{FreeBytes: -1, Rejected: 1}, []fact{{"spool", "error"}}},
		{"no limit of the queue", DiskUse{FreeBytes: -1, SpoolBytes: 100}, nil},
	} {
		var got []fact
		for _, f := range storageAttention(test.use) {
			got = append(got, fact{f.Object, f.Severity})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	text := storageAttention(DiskUse{FreeBytes: 3 * gib / 2, TotalBytes: 1000 * gib})[0].Message
	if want := "Only 1.5 GiB of disk space is left in the data directory. Free disk space or reduce the retention."; text != want {
		t.Errorf("message %q, want %q", text, want)
	}
}

func TestProviderIsUnusableWhileAllCredentialsBackOff(t *testing.T) {
	t.Parallel()
	backingOff := providers.CredentialState{ID: "a", BackingOffUntil: noon.Add(time.Minute)}
	recovered := providers.CredentialState{ID: "b", BackingOffUntil: noon.Add(-time.Minute)}
	for _, test := range []struct {
		name        string
		credentials []providers.CredentialState
		want        bool
	}{
		{"none needed", nil, true},
		{"one backs off", []providers.CredentialState{backingOff, {ID: "c"}}, true},
		{"all back off", []providers.CredentialState{backingOff, backingOff}, false},
		{"back-off has ended", []providers.CredentialState{recovered}, true},
	} {
		facts := fleetAttention([]providers.ProviderState{{Name: "acme", Enabled: true, Credentials: test.credentials, Targets: []providers.TargetState{{Target: &provider.Target{Provider: "acme", Model: &catalog.Model{Name: "gpt"}}}}}}, false, noon)
		if usable := len(facts) == 0; usable != test.want {
			t.Errorf("%s: usable = %t, want %t: %+v", test.name, usable, test.want, facts)
		}
	}
}

func TestForecastExtrapolatesGrowth(t *testing.T) {
	t.Parallel()
	grown := []StorageSample{{noon.Add(-9 * day), 1}, {noon.Add(-4 * day), 600 * mib}, {noon.Add(-day), 900 * mib}, {noon.Add(-time.Hour), 990 * mib}}
	at := func(days int) *time.Time { return new(noon.Add(time.Duration(days) * day)) }
	perDay, measured := new(100*mib), new((4 * day).Milliseconds())
	for _, test := range []struct {
		name string
		use  StorageUse
		want StorageForecast
	}{
		{"nothing was measured", StorageUse{DatabaseBytes: gib, FreeBytes: gib}, StorageForecast{Outlook: "unknown"}},
		{
			"not measured for a day",
			StorageUse{DatabaseBytes: gib, FreeBytes: gib, Samples: []StorageSample{{noon.Add(-23 * time.Hour), mib}}},
			StorageForecast{Outlook: "unknown"},
		},
		{"the size is unknown", StorageUse{DatabaseBytes: -1, FreeBytes: gib, Samples: grown}, StorageForecast{Outlook: "unknown"}},
		{
			"it shrinks",
			StorageUse{DatabaseBytes: 200 * mib, FreeBytes: gib, Samples: grown},
			StorageForecast{Outlook: "steady", MeasuredMS: measured, GrowthBytes: new(-100 * mib)},
		},
		{
			"the disk is full first",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 300 * mib, Samples: grown, Retention: 90 * day, OldestEntry: noon.Add(-10 * day)},
			StorageForecast{Outlook: "fills", MeasuredMS: measured, GrowthBytes: perDay, FullAt: at(3), BalancedAt: at(80), BalancedBytes: new(9000 * mib)},
		},
		{
			"retention comes first",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 3000 * mib, Samples: grown, Retention: 30 * day, OldestEntry: noon.Add(-10 * day)},
			StorageForecast{Outlook: "balances", MeasuredMS: measured, GrowthBytes: perDay, FullAt: at(30), BalancedAt: at(20), BalancedBytes: new(3000 * mib)},
		},
		{
			"kept for ever",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 300 * mib, Samples: grown, OldestEntry: noon.Add(-10 * day)},
			StorageForecast{Outlook: "fills", MeasuredMS: measured, GrowthBytes: perDay, FullAt: at(3)},
		},
		{
			"retention is reached, and it grows all the same",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 300 * mib, Samples: grown, Retention: 5 * day, OldestEntry: noon.Add(-5 * day)},
			StorageForecast{Outlook: "fills", MeasuredMS: measured, GrowthBytes: perDay, FullAt: at(3)},
		},
		{
			"the database's disk is another one",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 300 * mib, Samples: grown, DiskElsewhere: true},
			StorageForecast{Outlook: "grows", MeasuredMS: measured, GrowthBytes: perDay},
		},
		{
			"not in our lifetime",
			StorageUse{DatabaseBytes: 1000 * mib, FreeBytes: 1 << 60, Samples: grown},
			StorageForecast{Outlook: "grows", MeasuredMS: measured, GrowthBytes: perDay},
		},
	} {
		if diff := cmp.Diff(test.want, forecast(test.use, noon)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestStepFor(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]time.Duration{
		15 * time.Minute: time.Minute, 3 * time.Hour: time.Minute, 24 * time.Hour: time.Hour, 30 * 24 * time.Hour: 24 * time.Hour,
	} {
		if got := stepFor(span); got != want {
			t.Errorf("stepFor(%v) = %v, want %v", span, got, want)
		}
	}
}
