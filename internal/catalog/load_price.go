package catalog

import (
	"fmt"
	"hash"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/money"
)

// price reads the price of an offer.
func (r record) price() *Price {
	p := &Price{
		Input: r.rate(r.text("input")), Output: r.rate(r.text("output")),
		CacheRead: r.optionalRate("cache_read"), CacheWrite: r.optionalRate("cache_write"), CacheWriteLong: r.optionalRate("cache_write_1h"),
		AudioInput: r.optionalRate("audio_input"), AudioOutput: r.optionalRate("audio_output"),
		Tiers: r.tiers(), Source: r.text("source"), AsOf: r.text("as_of"),
	}
	if fee := r.optionalRate("per_request"); fee != nil {
		p.PerRequest = money.Amount(*fee) // rates and amounts are both in nano-dollars
	}
	for one := range r.parts("services") {
		name, factor, _ := strings.Cut(one, " ")
		p.Services = append(p.Services, Service{Name: name, Factor: r.factor(factor)})
	}
	if text := r.text("hours"); text != "" {
		p.Hours = append(p.Hours, r.hours(text))
	}
	return p
}

// readPeriods adds promotions and former prices to the offers. A promotion keeps the service tiers of the list price.
func readPeriods(files fs.FS, sum hash.Hash, offers []Offer) error {
	byName := map[string]*Price{}
	for _, o := range offers {
		if o.Price != nil {
			byName[o.Provider+"/"+o.Model] = o.Price
		}
	}
	return eachRow(files, "data/periods.csv", periodColumns, sum, func(r record) {
		list := byName[r.text("provider")+"/"+r.text("model")]
		if list == nil {
			r.fail("%s at %s has a period but no price", r.text("model"), r.text("provider"))
			return
		}
		period := Period{Name: r.text("name"), From: r.day("from"), Until: r.day("until"), Price: Price{
			Input: r.rate(r.text("input")), Output: r.rate(r.text("output")), CacheRead: r.optionalRate("cache_read"),
			CacheWrite: r.optionalRate("cache_write"), Tiers: r.tiers(), Services: list.Services,
			Source: r.text("source"), AsOf: r.text("as_of"),
		}}
		if period.Until.IsZero() || !period.From.Before(period.Until) {
			r.fail("a period must end after it starts")
		}
		list.Periods = append(list.Periods, period)
	})
}

// tiers parses cells such as ">ABOVE INPUT OUTPUT CACHE_READ CACHE_WRITE [CACHE_WRITE_1H]", where "-" means an unknown rate.
func (r record) tiers() []Tier {
	known := func(text string) *money.Rate {
		if text == "-" {
			return nil
		}
		return new(r.rate(text))
	}
	var list []Tier
	for text := range r.parts("tiers") {
		parts := strings.Fields(text)
		if len(parts) < 5 || len(parts) > 6 || !strings.HasPrefix(parts[0], ">") {
			r.fail("tier %q is not >ABOVE INPUT OUTPUT CACHE_READ CACHE_WRITE [CACHE_WRITE_1H]", text)
			return nil
		}
		t := Tier{
			Above: r.parseNumber(parts[0][1:]), Input: r.rate(parts[1]), Output: r.rate(parts[2]),
			CacheRead: known(parts[3]), CacheWrite: known(parts[4]),
		}
		if len(parts) == 6 {
			t.CacheWriteLong = known(parts[5])
		}
		list = append(list, t)
	}
	return list
}

// hours parses "NAME FACTOR Mon-Fri 00:00-01:00 04:00-06:00; Sat-Sun 00:00-24:00".
func (r record) hours(text string) Hours {
	name, rest, _ := strings.Cut(text, " ")
	factor, rest, _ := strings.Cut(rest, " ")
	h := Hours{Name: name, Factor: r.factor(factor)}
	for days := range strings.SplitSeq(rest, "; ") {
		parts := strings.Fields(days)
		if len(parts) < 2 {
			r.fail("hours %q are not DAYS TIMES", days)
			return h
		}
		first, last, _ := strings.Cut(parts[0], "-")
		for _, span := range parts[1:] {
			start, end, _ := strings.Cut(span, "-")
			w := Window{First: r.weekday(first), Last: r.weekday(last), Start: r.minute(start), End: r.minute(end)}
			if w.Start >= w.End {
				r.fail("hours %q end before they start", span)
			}
			h.Windows = append(h.Windows, w)
		}
	}
	return h
}

func (r record) weekday(text string) time.Weekday {
	i := slices.Index([]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}, text)
	if i < 0 {
		r.fail("%q is not a day of the week", text)
	}
	return time.Weekday(max(i, 0))
}

func (r record) minute(text string) int {
	var hour, minute int
	if n, err := fmt.Sscanf(text, "%2d:%2d", &hour, &minute); n != 2 || err != nil || hour < 0 || minute < 0 || minute > 59 || hour*60+minute > 24*60 {
		r.fail("%q is not a time of day", text)
	}
	return hour*60 + minute
}

// factor parses a multiplier with at most three decimals and returns thousandths.
func (r record) factor(text string) int64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f <= 100) {
		r.fail("%q is not a factor above 0 and up to 100", text)
		return 1000
	}
	return int64(f*1000 + 0.5)
}

func (r record) day(column string) time.Time {
	text := r.text(column)
	if text == "" {
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		r.fail("%s %q is not a date", column, text)
	}
	return day
}

// parts returns an iterator over the values of a cell.
func (r record) parts(column string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if text := r.text(column); text != "" {
			strings.SplitSeq(text, "; ")(yield)
		}
	}
}

func (r record) rate(text string) money.Rate {
	amount, err := money.Parse(text)
	if err != nil {
		r.fail("rate: %w", err)
	}
	if amount < 0 {
		r.fail("rate %s is negative", text)
	}
	return money.Rate(amount) // Parse converts dollars to nano-dollars; both rates are per million tokens
}

func (r record) optionalRate(column string) *money.Rate {
	if text := r.text(column); text != "" {
		return new(r.rate(text))
	}
	return nil
}
