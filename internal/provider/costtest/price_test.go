package costtest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

// price reads a card of rates in dollars per million tokens, followed by lines that change the rates under a condition:
//
//	input 3 output 15 cache_read 0.30 per_request 0.005
//	above 200000: input 6 output 22.50
//	service flex 0.5
//	hours off-peak 0.5: Mon-Fri 10:00-24:00; Sat-Sun 00:00-24:00
//	from 2026-06-01 until 2027-01-01 promotion: input 1.50 output 7.50
func (r reader) price(text string) *catalog.Price {
	r.Helper()
	p := &catalog.Price{Source: "case"}
	r.lines(text, func(word, rest string) {
		head, card, _ := strings.Cut(rest, ": ")
		switch word {
		case "above":
			p.Tiers = append(p.Tiers, r.tier(r.number(head), card))
		case "service":
			name, factor, _ := strings.Cut(rest, " ")
			p.Services = append(p.Services, catalog.Service{Name: name, Factor: r.thousandths(factor)})
		case "hours":
			p.Hours = append(p.Hours, r.hours(head, card))
		case "from", "until":
			p.Periods = append(p.Periods, r.period(word+" "+head, card))
		default:
			r.card(p, word+" "+rest)
		}
	})
	return p
}

func (r reader) card(p *catalog.Price, text string) {
	r.Helper()
	words := strings.Fields(text)
	if len(words)%2 != 0 {
		r.Fatalf("%q is not a list of names and rates", text)
	}
	for pair := range slices.Chunk(words, 2) {
		rate := r.rate(pair[1])
		switch pair[0] {
		case "input":
			p.Input = rate
		case "output":
			p.Output = rate
		case "cache_read":
			p.CacheRead = &rate
		case "cache_write":
			p.CacheWrite = &rate
		case "cache_write_1h":
			p.CacheWriteLong = &rate
		case "audio_input":
			p.AudioInput = &rate
		case "audio_output":
			p.AudioOutput = &rate
		case "per_request":
			p.PerRequest = money.Amount(rate) // both count nano-dollars
		default:
			r.Fatalf("unknown rate %q", pair[0])
		}
	}
}

func (r reader) tier(above int64, text string) catalog.Tier {
	r.Helper()
	var p catalog.Price
	r.card(&p, text)
	tier := p.Base()
	tier.Above = above
	return tier
}

func (r reader) thousandths(text string) int64 {
	r.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.Fatal(err)
	}
	return int64(f*1000 + 0.5)
}

// hours parses "off-peak 0.5" and "Mon-Fri 00:00-01:00 04:00-06:00; Sat-Sun 00:00-24:00".
func (r reader) hours(head, text string) catalog.Hours {
	r.Helper()
	name, factor, _ := strings.Cut(head, " ")
	h := catalog.Hours{Name: name, Factor: r.thousandths(factor)}
	for days := range strings.SplitSeq(text, "; ") {
		words := strings.Fields(days)
		first, last, _ := strings.Cut(words[0], "-")
		for _, span := range words[1:] {
			start, end, _ := strings.Cut(span, "-")
			h.Windows = append(h.Windows, catalog.Window{
				First: r.weekday(first), Last: r.weekday(last), Start: r.minute(start), End: r.minute(end),
			})
		}
	}
	return h
}

func (r reader) weekday(text string) time.Weekday {
	r.Helper()
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.HasPrefix(day.String(), text) {
			return day
		}
	}
	r.Fatalf("%q is not a day of the week", text)
	return 0
}

func (r reader) minute(text string) int {
	r.Helper()
	hour, minute, _ := strings.Cut(text, ":")
	return int(r.number(hour)*60 + r.number(minute))
}

// period parses "from 2026-06-01 until 2027-01-01 promotion" and its card. A period without a name is a former price.
func (r reader) period(head, text string) catalog.Period {
	r.Helper()
	var one catalog.Period
	words := strings.Fields(head)
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "from":
			i++
			one.From = r.day(words[i])
		case "until":
			i++
			one.Until = r.day(words[i])
		default:
			one.Name = words[i]
		}
	}
	r.card(&one.Price, text)
	one.Price.Source = "case"
	return one
}

func (r reader) day(text string) time.Time {
	r.Helper()
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		r.Fatal(err)
	}
	return day
}

// eventStream encodes Amazon's binary stream from a readable form with one line per event: name and payload.
func eventStream(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		name, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		headers := eventstream.Headers{}
		headers.Set(":message-type", eventstream.StringValue("event"))
		headers.Set(":event-type", eventstream.StringValue(name))
		headers.Set(":content-type", eventstream.StringValue("application/json"))
		if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: headers, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
