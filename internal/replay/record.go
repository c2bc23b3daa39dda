package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/route"
)

// Row is a stored entry of the request log. The trace is decompressed only when it is read.
type Row struct {
	ID      string
	Summary []byte // entry as JSON, without its trace
	// Trace appends to buffer a JSON object whose "trace" member is the decision. It is safe for concurrent use.
	Trace func(buffer []byte) ([]byte, error)
}

// record holds the parts of an entry that are needed for recomputing its decision. Most of a trace is the result of the decision, so only
// the inputs are decoded.
type record struct {
	id       string
	at       time.Time
	usage    llm.Usage
	cost     *money.Amount
	baseline *money.Amount
	in       route.Input
	chosen   string // target of the first choice; empty if the decision had no choice
	effort   string // reasoning effort of the first choice; empty for the model's default
	served   string // target that served the request
	seen     sightings

	buffer []byte            // buffer of the last trace, for reuse
	names  map[string]string // names of targets, so that each is allocated once
}

// sightings holds the state, cache hit and quality that a decision recorded for each target.
type sightings map[string]sighting

type sighting struct {
	state   route.State
	cache   route.CacheHit
	quality float64
	rated   bool // whether the target was scored; otherwise, quality and cache are unknown
}

var errNoTrace = errors.New("entry has no trace")

// read decodes a row. It reuses the buffers of the previous row.
func (r *record) read(row *Row) error {
	*r = record{id: row.ID, seen: r.seen, buffer: r.buffer, names: r.names}
	clear(r.seen)
	if r.seen == nil {
		r.seen, r.names = sightings{}, map[string]string{}
	}
	r.at, _ = id.Time(row.ID)
	text, err := row.Trace(r.buffer[:0])
	if err != nil {
		return err
	}
	r.buffer = text
	if err := r.readTrace(text); err != nil {
		return fmt.Errorf("read trace of %s: %w", row.ID, err)
	}
	var summary struct {
		Model    string        `json:"model"`
		Provider string        `json:"provider"`
		Usage    llm.Usage     `json:"usage"`
		Cost     *money.Amount `json:"cost_usd"`
		Baseline *money.Amount `json:"baseline_cost_usd"`
	}
	if err := json.Unmarshal(row.Summary, &summary); err != nil {
		return fmt.Errorf("read entry %s: %w", row.ID, err)
	}
	r.usage, r.cost, r.baseline = summary.Usage, summary.Cost, summary.Baseline
	if summary.Model != "" {
		r.served = summary.Provider + "/" + summary.Model
	}
	return nil
}

// readTrace decodes the input of the decision and the observed states of its candidates.
func (r *record) readTrace(text []byte) error {
	s := &rawjson.Scanner{Data: text}
	found := false
	eachMember(s, func(key []byte) {
		if string(key) == "trace" && s.Kind() == '{' {
			found = true
			eachMember(s, func(key []byte) { r.readDecision(s, key) })
		}
	})
	if s.Err == nil && !found {
		return errNoTrace
	}
	return s.Err
}

// readDecision reads one member of a decision. Members that are not needed are skipped.
func (r *record) readDecision(s *rawjson.Scanner, key []byte) {
	switch string(key) {
	case "input":
		decode(s, &r.in)
	case "candidates", "aside":
		if s.Kind() != '[' {
			return
		}
		for range s.Elements {
			if string(key) == "candidates" {
				r.readCandidate(s)
				continue
			}
			// An element of "aside" is the observed state of a target that policies excluded. "candidates" may contain the same target
			// without its state.
			var aside route.Sighting
			decode(s, &aside)
			known := r.seen[aside.Target]
			known.state, known.cache = aside.Seen, aside.Cache
			r.seen[aside.Target] = known
		}
	}
}

func (r *record) readCandidate(s *rawjson.Scanner) {
	var one sighting
	var target, effort string
	var code route.Reason
	var rank int64
	eachMember(s, func(key []byte) {
		switch string(key) {
		case "target":
			target = r.readName(s)
		case "effort":
			effort = r.readName(s)
		case "rank":
			rank = readInt(s)
		case "quality":
			one.quality = readFloat(s)
		case "cached_prefix":
			one.cache = readCacheHit(s)
		case "seen":
			one.state = readState(s)
		case "excluded":
			eachMember(s, func(key []byte) {
				if string(key) == "code" {
					code = route.Reason(r.readName(s))
				}
			})
		}
	})
	if rank == 1 {
		r.chosen, r.effort = target, effort
	}
	one.rated = rank > 0 || code.Temporary()
	r.seen[target] = one
}

// readCacheHit and readState read the JSON that encoding/json writes. They do not use reflection, because every
// candidate has both values and decoding them with encoding/json takes longer than computing the decision.

func readCacheHit(s *rawjson.Scanner) (hit route.CacheHit) {
	eachMember(s, func(key []byte) {
		switch string(key) {
		case "read":
			hit.Read = readInt(s)
		case "write":
			hit.Write = readInt(s)
		case "long":
			hit.Long = string(s.Raw()) == "true"
		case "caches":
			hit.Caches = string(s.Raw()) == "true"
		}
	})
	return hit
}

func readState(s *rawjson.Scanner) (state route.State) {
	eachMember(s, func(key []byte) {
		switch string(key) {
		case "open":
			state.Open = string(s.Raw()) == "true"
		case "backing_off_ns":
			state.BackingOff = time.Duration(readInt(s))
		case "quota_wait_ns":
			state.QuotaWait = time.Duration(readInt(s))
		case "rejected":
			state.Rejected = string(s.Raw()) == "true"
		case "denied":
			state.Denied = string(s.Raw()) == "true"
		case "latency_ns":
			state.Latency = time.Duration(readInt(s))
		case "tokens_per_second":
			state.TokensPS = readFloat(s)
		case "length":
			state.Length = readFloat(s)
		}
	})
	return state
}

// readName reads a target name or a code. It allocates a string only for a new name.
func (r *record) readName(s *rawjson.Scanner) string {
	const maxNames = 10_000
	if s.Kind() != '"' {
		s.Fail("a string is expected")
		return ""
	}
	text := s.Unquote(s.ReadString())
	if known, ok := r.names[string(text)]; ok {
		return known
	}
	if len(r.names) >= maxNames {
		clear(r.names)
	}
	name := string(text)
	r.names[name] = name
	return name
}

// eachMember calls the function fn for every key of the next value if that value is an object. It skips any other value.
func eachMember(s *rawjson.Scanner, fn func(key []byte)) {
	if s.Kind() != '{' {
		s.Skip()
		return
	}
	for key := range s.Members {
		fn(key)
	}
}

// decode decodes the next value with encoding/json.
func decode(s *rawjson.Scanner, into any) {
	text := s.Raw()
	if s.Err == nil {
		s.Err = json.Unmarshal(text, into)
	}
}

func readInt(s *rawjson.Scanner) int64 {
	n, err := strconv.ParseInt(string(s.Raw()), 10, 64)
	if err != nil && s.Err == nil {
		s.Err = err
	}
	return n
}

func readFloat(s *rawjson.Scanner) float64 {
	f, err := strconv.ParseFloat(string(s.Raw()), 64)
	if err != nil && s.Err == nil {
		s.Err = err
	}
	return f
}
