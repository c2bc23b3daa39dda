package admin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/overview"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	day = 24 * time.Hour
)

func TestForecastIsOnlyForOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.samples = []overview.StorageSample{{At: noon.Add(-2 * day), Bytes: 500}}
	var mine, theirs overview.SettingsView
	s.call("GET", "/settings", "", as("acc_viewer")).want(200).into(&mine)
	s.call("GET", "/settings", "", as(stranger)).want(200).into(&theirs)
	if f := mine.Storage.Forecast; f == nil || f.Outlook != "grows" || *f.GrowthBytes != 250 {
		t.Errorf("%+v", f)
	}
	if theirs.Storage.Forecast != nil {
		t.Errorf("another workspace got the forecast %+v", theirs.Storage.Forecast)
	}
}

func TestAttentionDoesNotQueryDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.broken = errDisk // the error is returned when keys are listed
	s.fake.disk = overview.DiskUse{FreeBytes: 100 * mib, TotalBytes: 100 * gib}
	kinds := func(who string) (list []string) {
		var got overview.AttentionList
		s.call("GET", "/attention", "", as(who)).want(200).into(&got)
		for _, f := range got.Attention {
			list = append(list, f.Kind)
		}
		return list
	}
	if diff := cmp.Diff([]string{"storage_low", "circuit_open", "credential_backing_off"}, kinds("acc_viewer")); diff != "" {
		t.Error(diff)
	}
	var mine, theirs overview.AttentionList
	s.call("GET", "/attention", "", as("acc_viewer")).want(200).into(&mine)
	s.call("GET", "/attention", "", as(stranger)).want(200).into(&theirs)
	if mine.ConfigFile == nil || *mine.ConfigFile != "/etc/fairlead/fairlead.yaml" || theirs.ConfigFile != nil {
		t.Errorf("the configuration file is reported as %v and %v", mine.ConfigFile, theirs.ConfigFile)
	}
	s.fleet.enabled["acme"] = false
	if diff := cmp.Diff([]string{"no_provider", "storage_low"}, kinds("acc_owner")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"no_provider"}, kinds(stranger)); diff != "" {
		t.Error(diff)
	}
}
