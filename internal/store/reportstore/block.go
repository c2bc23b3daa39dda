package reportstore

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// blockVersion is the first byte of a block.
const blockVersion = 1

// errBlock is returned for a malformed block or day.
var errBlock = errors.New("parse report roll-up: the data is malformed")

// The text columns of a block are the dimensions of report.Dimensions, in their order, and the tags of a request as one string.
const (
	tagColumn   = 8
	textColumns = 9
)

// The number columns of a block.
const (
	costNumber = iota
	baselineNumber
	cacheSavedNumber
	inputNumber
	cachedNumber
	outputNumber
	numberColumns
)

// The flags of a fact. Two bits hold the decision.
const (
	flagServed = 1 << iota
	flagError
	flagRejected
	flagCost     // the cost is known
	flagBaseline // the baseline cost is known
	flagCacheHit
	decisionShift = 6
)

// builder collects facts by column.
type builder struct {
	n                    int
	text                 [textColumns]dictionary
	minutes              []uint64 // minute of the day in which each request began
	flags, latency, ttft []byte
	numbers              [numberColumns][]uint64 // values of the number columns, zigzag encoded
}

// add adds the fact of an entry.
func (b *builder) add(e *requestlog.Entry) {
	member := e.AccountID
	if member == "" {
		member = e.KeyID // a reader replaces the key with the account that created the key
	}
	for i, value := range [textColumns]string{e.Model, e.Provider, e.KeyID, e.Policy, member, e.EndUser, e.Session, e.Client, ""} {
		value = requestlog.Term(value)
		if i == tagColumn {
			value = tagText(e.Tags)
		}
		b.text[i].add(value)
	}
	b.n++
	at := e.Stamp().UTC()
	b.minutes = append(b.minutes, uint64(at.Hour()*60+at.Minute())) //nolint:gosec // the minute of the day is never negative
	b.flags = append(b.flags, flagsOf(e))
	latency, ttft := byte(0), byte(0)
	if e.Served() {
		latency, ttft = bucketByte(requestlog.BucketOf(e.Latency)), bucketByte(requestlog.BucketOf(e.TTFT))
	}
	b.latency, b.ttft = append(b.latency, latency), append(b.ttft, ttft)
	var saved *money.Amount
	if e.Cache != nil {
		saved = e.Cache.Saved
	}
	for i, n := range [numberColumns]int64{amount(e.Cost), amount(e.BaselineCost), amount(saved), e.Usage.Prompt(), e.Usage.CacheRead, e.Usage.Output} {
		b.numbers[i] = append(b.numbers[i], zigzag(n))
	}
}

func flagsOf(e *requestlog.Entry) byte {
	var flags byte
	for bit, set := range [...]bool{e.Served(), e.Outcome.IsError(), e.Outcome == requestlog.Rejected, e.Cost != nil, e.BaselineCost != nil, e.CacheHit()} {
		if set {
			flags |= 1 << bit
		}
	}
	switch e.DecisionKind {
	case route.Expected:
		flags |= 1 << decisionShift
	case route.Fallback:
		flags |= 2 << decisionShift
	case route.Policy:
		flags |= 3 << decisionShift
	}
	return flags
}

// bucketByte returns the stored form of a bucket: 0 for none.
func bucketByte(bucket int, known bool) byte {
	if !known {
		return 0
	}
	return byte(bucket + 1) //nolint:gosec // a histogram has fewer than 255 buckets
}

func amount(a *money.Amount) int64 {
	if a == nil {
		return 0
	}
	return int64(*a)
}

// tagText returns tags as one string, sorted by name. Zero bytes separate the names and values, which contain no zero bytes.
func tagText(tags map[string]string) string {
	if len(tags) == 0 {
		return ""
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		text.WriteString(requestlog.Term(name) + "\x00" + requestlog.Term(tags[name]) + "\x00")
	}
	return text.String()
}

// eachTag calls fn for each tag in the output of tagText.
func eachTag(text string, fn func(name, value string)) {
	for text != "" {
		name, rest, _ := strings.Cut(text, "\x00")
		value, rest, _ := strings.Cut(rest, "\x00")
		fn(name, value)
		text = rest
	}
}

// append adds the facts of a block at the given positions. If positions is nil, it adds all facts in their order.
func (b *builder) append(from *block, positions []int) error {
	if positions == nil {
		positions = make([]int, from.n)
		for i := range positions {
			positions[i] = i
		}
	}
	for k := range from.text {
		values, err := from.text[k].values()
		if err != nil {
			return err
		}
		for _, i := range positions {
			id := from.text[k].index.at(i)
			if id >= uint64(len(values)) {
				return errBlock
			}
			b.text[k].add(values[id])
		}
	}
	b.n += len(positions)
	for _, i := range positions {
		b.minutes = append(b.minutes, from.minutes.at(i))
		b.flags, b.latency, b.ttft = append(b.flags, from.flags[i]), append(b.latency, from.latency[i]), append(b.ttft, from.ttft[i])
	}
	for k := range b.numbers {
		for _, i := range positions {
			b.numbers[k] = append(b.numbers[k], from.numbers[k].at(i))
		}
	}
	return nil
}

// encode returns the block without compression.
func (b *builder) encode() []byte {
	out := binary.AppendUvarint([]byte{blockVersion}, uint64(b.n)) //nolint:gosec // the number of rows is never negative
	for i := range b.text {
		out = b.text[i].append(out)
	}
	for _, bytes := range [][]byte{b.flags, b.latency, b.ttft} {
		out = append(out, bytes...)
	}
	out = appendColumn(out, b.minutes)
	for _, numbers := range b.numbers {
		out = appendColumn(out, numbers)
	}
	return out
}

// block holds the columns of a parsed block. It shares memory with the encoded block.
type block struct {
	n                    int
	text                 [textColumns]textColumn
	flags, latency, ttft []byte
	minutes              column
	numbers              [numberColumns]column

	from, to uint64 // range of minutes that a query reads
	weight   int64  // number of requests that each fact represents
	parsed   map[report.Dimension]texts
}

// parseBlock parses an encoded block. The index of each text column is checked when it is read.
func parseBlock(data []byte) (*block, error) {
	if len(data) == 0 || data[0] != blockVersion {
		return nil, errBlock
	}
	c := cursor{data[1:]}
	n, ok := c.uvarint()
	if !ok || n > uint64(len(data)) {
		return nil, errBlock
	}
	b := &block{n: int(n), to: dayMinutes, weight: 1} //nolint:gosec // the count is at most the length of the data
	for i := range b.text {
		if b.text[i], ok = c.dictionary(b.n); !ok {
			return nil, errBlock
		}
	}
	for _, bytes := range []*[]byte{&b.flags, &b.latency, &b.ttft} {
		if len(c.data) < b.n {
			return nil, errBlock
		}
		*bytes, c.data = c.data[:b.n], c.data[b.n:]
	}
	if b.minutes, ok = c.column(b.n); !ok {
		return nil, errBlock
	}
	for i := range b.numbers {
		if b.numbers[i], ok = c.column(b.n); !ok {
			return nil, errBlock
		}
	}
	return b, nil
}

const dayMinutes = 24 * 60

func (b *block) len() int { return b.n }

func (b *block) texts(d report.Dimension) (texts, error) {
	if found, ok := b.parsed[d]; ok {
		return found, nil
	}
	i := rank(d)
	values, err := b.text[i].values()
	found := texts{values, b.text[i].index}
	if name, ok := d.Tag(); ok { // the column contains all tags of a request as one string
		found.values = make([]string, len(values))
		for i, text := range values {
			eachTag(text, func(tag, value string) {
				if tag == name {
					found.values[i] = value
				}
			})
		}
	}
	if b.parsed == nil {
		b.parsed = map[report.Dimension]texts{}
	}
	b.parsed[d] = found
	return found, err
}

func (b *block) skips(i int) bool {
	minute := b.minutes.at(i)
	return minute < b.from || minute >= b.to
}

func (b *block) weigh(i int, m report.Measure) (measure, requests int64) {
	flags := b.flags[i]
	const compared = flagCost | flagBaseline
	switch {
	case m == report.Requests:
		measure = 1
	case m == report.Errors && flags&flagError != 0:
		measure = 1
	case m == report.Savings && flags&compared == compared:
		measure = b.numbers[baselineNumber].signed(i) - b.numbers[costNumber].signed(i)
	case m == report.Spend && flags&(flagCost|flagCacheHit) == flagCost:
		measure = b.numbers[costNumber].signed(i)
	}
	return b.weight * measure, b.weight
}

// addTo adds a fact to a row in the same way as Sums.Add adds an entry.
func (b *block) addTo(i int, s *report.Row) error {
	flags, n := b.flags[i], b.weight
	amount := func(number int) money.Amount { return money.Amount(n * b.numbers[number].signed(i)) }
	s.Requests += n
	if flags&flagError != 0 {
		s.Errors += n
	}
	if flags&flagRejected != 0 {
		s.Rejected += n
	}
	switch flags >> decisionShift {
	case 1:
		s.Expected += n
	case 2:
		s.Fallbacks += n
	case 3:
		s.Policies += n
	}
	if flags&flagCacheHit != 0 {
		s.CacheHits += n
	} else if flags&flagCost != 0 {
		s.Priced += n
		s.Cost = s.Cost.Add(amount(costNumber))
	}
	if flags&flagCost != 0 && flags&flagBaseline != 0 {
		s.Compared += n
		s.ComparedCost = s.ComparedCost.Add(amount(costNumber))
		s.BaselineCost = s.BaselineCost.Add(amount(baselineNumber))
	}
	s.CacheSaved = s.CacheSaved.Add(amount(cacheSavedNumber))
	s.InputTokens += n * b.numbers[inputNumber].signed(i)
	s.CachedTokens += n * b.numbers[cachedNumber].signed(i)
	s.OutputTokens += n * b.numbers[outputNumber].signed(i)
	if flags&flagServed != 0 {
		s.Served += n
		if bucket := b.latency[i]; bucket > 0 {
			s.Latency.AddBucket(int(bucket)-1, n)
		}
		if bucket := b.ttft[i]; bucket > 0 {
			s.TTFT.AddBucket(int(bucket)-1, n)
		}
	}
	return nil
}
