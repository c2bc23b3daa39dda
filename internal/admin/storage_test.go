package admin

import (
	"testing"
	"time"

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
