package overview

import (
	"fmt"
	"time"

	"fairlead.dev/internal/admin/adminapi"
)

// Thresholds for storage warnings. The smaller of the absolute size and the share of the disk applies.
const (
	lowDisk      = 2 << 30
	lowDiskShare = 0.05
	noDisk       = 256 << 20
	noDiskShare  = 0.01
	lowSpool     = 0.80
	noSpool      = 0.95
)

// DiskUse holds the disk space and the size and limit of the spool. Negative numbers mean unknown.
type DiskUse struct {
	FreeBytes  int64
	TotalBytes int64
	SpoolBytes int64
	SpoolLimit int64
	Rejected   int64 // number of log entries that the database rejected
}

// storageAttention returns warnings about a disk or spool that is nearly full, and about rejected log entries.
func storageAttention(d DiskUse) []Attention {
	list := []Attention{}
	if d.FreeBytes >= 0 && d.TotalBytes > 0 && d.FreeBytes < least(d.TotalBytes, lowDiskShare, lowDisk) {
		v := Attention{
			Kind: "storage_low", Severity: "warning", Object: "disk", Label: "Disk",
			Message: fmt.Sprintf("Only %s of disk space is left in the data directory. Free disk space or reduce the retention.", sizeText(d.FreeBytes)),
		}
		if d.FreeBytes < least(d.TotalBytes, noDiskShare, noDisk) {
			v.Severity = "error"
		}
		list = append(list, v)
	}
	if used := adminapi.Share(d.SpoolBytes, d.SpoolLimit); d.SpoolLimit > 0 && used != nil && *used >= 100*lowSpool {
		v := Attention{
			Kind: "storage_low", Severity: "warning", Object: "spool", Label: "Queue",
			Message: fmt.Sprintf("The queue in front of the database is %.0f %% full because the database is slow or unavailable. Requests are rejected when it is full.", *used),
		}
		if *used >= 100*noSpool {
			v.Severity = "error"
		}
		list = append(list, v)
	}
	if d.Rejected > 0 {
		list = append(list, Attention{
			Kind: "entries_rejected", Severity: "error", Object: "spool", Label: "Queue",
			Message: fmt.Sprintf("The database rejected %d log entries. They are kept in files; fairlead doctor shows the reasons. A restart delivers them again.", d.Rejected),
		})
	}
	return list
}

// least returns the smaller of bound and the given share of whole.
func least(whole int64, part float64, bound int64) int64 {
	return min(int64(float64(whole)*part), bound)
}

// sizeText formats a number of bytes: 1.5 GiB, 120 MiB.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

const (
	forecastSpan  = 7 * 24 * time.Hour // period over which growth is measured
	forecastLeast = 24 * time.Hour     // minimum period, because traffic varies over the day
	forecastEnd   = 10 * 365           // maximum number of days of a forecast
)

// StorageSample is the database size at a point in time.
type StorageSample struct {
	At    time.Time
	Bytes int64
}

// Values of StorageForecast.Outlook.
const (
	outlookUnknown  = "unknown"
	outlookSteady   = "steady"
	outlookBalances = "balances"
	outlookFills    = "fills"
	outlookGrows    = "grows"
)

// StorageForecast extrapolates the database growth, measured over at most 7 days.
type StorageForecast struct {
	Outlook       string     `json:"outlook" enum:"unknown,steady,balances,fills,grows" doc:"unknown: measured for less than a day. steady: not growing. balances: retention will stop the growth before the disk is full. fills: the disk will be full before that. grows: growing, without a predictable date."`
	MeasuredMS    *int64     `json:"measured_ms" doc:"Duration of the measurement, at most a week. null if not measured."`
	GrowthBytes   *int64     `json:"growth_bytes_per_day" doc:"Net growth of the database. null if not measured."`
	FullAt        *time.Time `json:"full_at" doc:"Time at which the disk will be full at this growth. null if the database is not growing, if it takes more than ten years, or if the disk of the database is unknown."`
	BalancedAt    *time.Time `json:"balanced_at" doc:"Time at which the oldest request reaches its retention. From then on, growth stops if traffic is constant. null if already reached or if requests are kept forever."`
	BalancedBytes *int64     `json:"balanced_bytes" doc:"Size of the database at that time."`
}

// forecast extrapolates the database growth, measured over at most 7 days. It assumes constant traffic.
func forecast(u StorageUse, now time.Time) StorageForecast {
	var first StorageSample // oldest sample between one day and one week old
	for _, s := range u.Samples {
		age := now.Sub(s.At)
		if age >= forecastLeast && age <= forecastSpan && (first.At.IsZero() || s.At.Before(first.At)) {
			first = s
		}
	}
	if first.At.IsZero() || u.DatabaseBytes < 0 {
		return StorageForecast{Outlook: outlookUnknown}
	}
	span := now.Sub(first.At)
	growth := int64(float64(u.DatabaseBytes-first.Bytes) / span.Hours() * 24)
	f := StorageForecast{Outlook: outlookSteady, MeasuredMS: adminapi.Millis(span), GrowthBytes: &growth}
	if growth <= 0 {
		return f
	}
	f.Outlook = outlookGrows
	if u.FreeBytes >= 0 && !u.DiskElsewhere {
		if days := float64(u.FreeBytes) / float64(growth); days <= forecastEnd {
			f.FullAt = new(now.Add(time.Duration(days * 24 * float64(time.Hour))).UTC())
		}
	}
	if u.Retention > 0 && !u.OldestEntry.IsZero() && u.OldestEntry.Add(u.Retention).After(now) {
		at := u.OldestEntry.Add(u.Retention).UTC()
		size := u.DatabaseBytes + int64(at.Sub(now).Hours()/24*float64(growth))
		f.BalancedAt, f.BalancedBytes = &at, &size
	}
	switch {
	case f.BalancedAt != nil && (f.FullAt == nil || f.BalancedAt.Before(*f.FullAt)):
		f.Outlook = outlookBalances
	case f.FullAt != nil:
		f.Outlook = outlookFills
	}
	return f
}
