package replay

import (
	"errors"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/route"
)

// Row is a stored entry, read as far as whoever walks through many needs it.
type Row struct {
	ID      string
	Summary []byte // the entry as JSON, without its trace
	// Trace unpacks JSON whose member trace is the decision. It appends to room, and may be called beside others.
	Trace func(room []byte) ([]byte, error)
}

// record is what replaying needs of an entry. A trace is large, and most of it is what the decision said rather than what
// it was made from: only the latter is read.
type record struct {
	id       string
	at       time.Time
	usage    llm.Usage
	cost     *money.Amount
	baseline *money.Amount
	in       route.Input
	chosen   string // target of the first choice; empty when there was none
	served   string // target that served in the end
	seen     sightings

	room  []byte            // of the last trace, to be used again
	names map[string]string // of targets, so that each is made once
}

// sightings are what a decision knew of targets, by their id.
type sightings map[string]sighting

type sighting struct {
	state   route.State
	warm    route.CacheHit
	quality float64
	rated   bool // the target took part, so that all of this is known
}

var errNoTrace = errors.New("there is no trace")

// read takes a row apart. It uses the room of the last one again.
func (r *record) read(row *Row) error {
	*r = record{id: row.ID, seen: r.seen, room: r.room, names: r.names}
	clear(r.seen)
	if r.seen == nil {
		r.seen, r.names = sightings{}, map[string]string{}
	}
	r.at, _ = id.Time(row.ID)
	text, err := row.Trace(r.room[:0])
	if err != nil {
		return err
	}
	r.room = text
	if err := r.trace(&scanner{text: text}); err != nil {
		return fmt.Errorf("read trace of %s: %w", row.ID, err)
	}
	if err := r.summary(&scanner{text: row.Summary}); err != nil {
		return fmt.Errorf("read entry %s: %w", row.ID, err)
	}
	return nil
}

// mostNames bounds how many names are kept.
const mostNames = 10_000

// name is a target's, made only when it is new.
func (r *record) name(text []byte) string {
	if known, ok := r.names[string(text)]; ok {
		return known
	}
	if len(r.names) >= mostNames {
		clear(r.names)
	}
	name := string(text)
	r.names[name] = name
	return name
}

// summary reads what was used and paid.
func (r *record) summary(s *scanner) error {
	var model, provider string
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "model":
			model = s.string()
		case "provider":
			provider = s.string()
		case "usage":
			s.decode(&r.usage)
		case "cost_usd":
			s.decode(&r.cost)
		case "baseline_cost_usd":
			s.decode(&r.baseline)
		default:
			s.skip()
		}
	}
	if model != "" {
		r.served = provider + "/" + model
	}
	return s.err
}

// trace reads the input and what was seen of the candidates.
func (r *record) trace(s *scanner) error {
	found := false
	for in := s.enter('{'); in && s.more('}'); {
		if string(s.name()) != "trace" || s.next() != '{' {
			s.skip()
			continue
		}
		found = true
		r.decision(s)
	}
	if s.err == nil && !found {
		return errNoTrace
	}
	return s.err
}

func (r *record) decision(s *scanner) {
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "input":
			s.decode(&r.in)
		case "candidates":
			for in := s.enter('['); in && s.more(']'); {
				r.candidate(s)
			}
		case "aside":
			for in := s.enter('['); in && s.more(']'); {
				r.aside(s)
			}
		default:
			s.skip()
		}
	}
}

func (r *record) candidate(s *scanner) {
	var one sighting
	var target, code string
	var rank int64
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "target":
			target = r.name(s.word())
		case "rank":
			rank = s.int()
		case "quality":
			one.quality = s.float()
		case "cached_prefix", "warm":
			one.warm = s.warmth()
		case "seen":
			one.state = s.state()
		case "excluded":
			code = r.name(s.code())
		default:
			s.skip()
		}
	}
	if rank == 1 {
		r.chosen = target
	}
	one.rated = rank > 0 || code == string(route.CircuitOpen) || code == string(route.CredentialBackingOff) || code == "credential_resting"
	r.seen[target] = one
}

// aside reads what was seen of a target that policies kept out. It may be among the candidates without that.
func (r *record) aside(s *scanner) {
	var one sighting
	var target string
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "target":
			target = r.name(s.word())
		case "cached_prefix", "warm":
			one.warm = s.warmth()
		case "seen":
			one.state = s.state()
		default:
			s.skip()
		}
	}
	known := r.seen[target]
	known.state, known.warm = one.state, one.warm
	r.seen[target] = known
}

// code takes that of an exclusion.
func (s *scanner) code() (code []byte) {
	for in := s.enter('{'); in && s.more('}'); {
		if string(s.name()) == "code" {
			code = s.word()
			continue
		}
		s.skip()
	}
	return code
}

func (s *scanner) warmth() (w route.CacheHit) {
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "read":
			w.Read = s.int()
		case "write":
			w.Write = s.int()
		case "long":
			w.Long = s.bool()
		case "caches":
			w.Caches = s.bool()
		default:
			s.skip()
		}
	}
	return w
}

func (s *scanner) state() (to route.State) {
	for in := s.enter('{'); in && s.more('}'); {
		switch string(s.name()) {
		case "open":
			to.Open = s.bool()
		case "backing_off_ns", "resting_ns":
			to.BackingOff = time.Duration(s.int())
		case "rejected", "refused":
			to.Rejected = s.bool()
		case "latency_ns":
			to.Latency = time.Duration(s.int())
		case "tokens_per_second":
			to.TokensPS = s.float()
		default:
			s.skip()
		}
	}
	return to
}
