package reportstore

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"

	"fairlead/internal/money"
	"fairlead/internal/report"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// blockVersion is the first byte of a block.
const blockVersion = 1

// errBlock is returned for a malformed block or day.
var errBlock = errors.New("parse report roll-up: the data is malformed")

// The text columns of a block are the dimensions of report.Dimensions, in their order, and the tags of a request as one text.
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

// The flags of a fact. Two bits have the decision.
const (
	flagServed = 1 << iota
	flagError
	flagRejected
	flagCost     // the cost is known
	flagBaseline // the baseline cost is known
	flagCacheHit
	decisionShift = 6
)

// builder collects facts by column. Text is stored as numbers in a dictionary.
type builder struct {
	n                             int
	text                          [textColumns]dictionary
	minutes, flags, latency, ttft []byte
	numbers                       [numberColumns][]byte
}

type dictionary struct {
	ids    map[string]uint64
	values []string
	index  []byte // one uvarint per fact
}

func (d *dictionary) id(value string) uint64 {
	id, ok := d.ids[value]
	if !ok {
		if d.ids == nil {
			d.ids = map[string]uint64{}
		}
		id = uint64(len(d.values))
		d.ids[value] = id
		d.values = append(d.values, value)
	}
	return id
}

// add adds the fact of an entry.
func (b *builder) add(e *requestlog.Entry) {
	member := e.AccountID
	if member == "" {
		member = e.KeyID // replaced by the creator of the key when it is read
	}
	for i, value := range [textColumns]string{e.Model, e.Provider, e.KeyID, e.Policy, member, e.EndUser, e.Session, e.Client, ""} {
		value = requestlog.Term(value)
		if i == tagColumn {
			value = tagText(e.Tags)
		}
		b.text[i].index = binary.AppendUvarint(b.text[i].index, b.text[i].id(value))
	}
	b.n++
	b.minutes = append(b.minutes, byte(e.Stamp().UTC().Minute())) //nolint:gosec // below 60
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
		b.numbers[i] = binary.AppendVarint(b.numbers[i], n)
	}
}

func flagsOf(e *requestlog.Entry) byte {
	var flags byte
	for bit, set := range map[byte]bool{
		flagServed: e.Served(), flagError: e.Outcome.IsError(), flagRejected: e.Outcome == requestlog.Rejected,
		flagCost: e.Cost != nil, flagBaseline: e.BaselineCost != nil, flagCacheHit: e.CacheHit(),
	} {
		if set {
			flags |= bit
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

// tagText returns tags as one text, sorted by name. Terms have no zero bytes.
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

// eachTag calls fn for each tag of a text.
func eachTag(text string, fn func(name, value string)) {
	for text != "" {
		name, rest, _ := strings.Cut(text, "\x00")
		value, rest, _ := strings.Cut(rest, "\x00")
		fn(name, value)
		text = rest
	}
}

// append adds the facts of a block.
func (b *builder) append(from *block) error {
	for i := range from.text {
		own, theirs := &b.text[i], &from.text[i]
		ids := make([]uint64, len(theirs.values))
		for k, value := range theirs.values {
			ids[k] = own.id(value)
		}
		index := cursor{theirs.index}
		for range from.n {
			id, ok := index.uvarint()
			if !ok || id >= uint64(len(ids)) {
				return errBlock
			}
			own.index = binary.AppendUvarint(own.index, ids[id])
		}
	}
	b.n += from.n
	b.minutes, b.flags = append(b.minutes, from.minutes...), append(b.flags, from.flags...)
	b.latency, b.ttft = append(b.latency, from.latency...), append(b.ttft, from.ttft...)
	for i := range b.numbers {
		b.numbers[i] = append(b.numbers[i], from.numbers[i]...)
	}
	return nil
}

// encode returns the block without compression.
func (b *builder) encode() []byte {
	out := binary.AppendUvarint([]byte{blockVersion}, uint64(b.n)) //nolint:gosec // not negative
	for i := range b.text {
		out = binary.AppendUvarint(out, uint64(len(b.text[i].values)))
		for _, value := range b.text[i].values {
			out = appendText(out, value)
		}
		out = appendText(out, b.text[i].index)
	}
	for _, column := range [][]byte{b.minutes, b.flags, b.latency, b.ttft} {
		out = append(out, column...)
	}
	for _, column := range b.numbers {
		out = appendText(out, column)
	}
	return out
}

func appendText[T string | []byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// block is a parsed block. It shares memory with the encoded one.
type block struct {
	n                             int
	text                          [textColumns]textColumn
	minutes, flags, latency, ttft []byte
	numbers                       [numberColumns][]byte
}

type textColumn struct {
	values []string
	index  []byte
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
	b := &block{n: int(n)} //nolint:gosec // at most the length of the data
	for i := range b.text {
		count, ok := c.uvarint()
		if !ok || count > uint64(len(data)) {
			return nil, errBlock
		}
		b.text[i].values = make([]string, count)
		for k := range b.text[i].values {
			text, ok := c.text()
			if !ok {
				return nil, errBlock
			}
			b.text[i].values[k] = string(text)
		}
		if b.text[i].index, ok = c.text(); !ok {
			return nil, errBlock
		}
	}
	for _, column := range []*[]byte{&b.minutes, &b.flags, &b.latency, &b.ttft} {
		if len(c.data) < b.n {
			return nil, errBlock
		}
		*column, c.data = c.data[:b.n], c.data[b.n:]
	}
	for i := range b.numbers {
		if b.numbers[i], ok = c.text(); !ok {
			return nil, errBlock
		}
	}
	return b, nil
}

// column returns the values of a dimension and the index of each fact among them. The empty dimension has no values.
func (b *block) column(d report.Dimension) textColumn {
	if d == "" {
		return textColumn{}
	}
	if i := slices.Index(report.Dimensions(), d); i >= 0 {
		return b.text[i]
	}
	name, _ := d.Tag()
	column := textColumn{values: make([]string, len(b.text[tagColumn].values)), index: b.text[tagColumn].index}
	for i, text := range b.text[tagColumn].values {
		eachTag(text, func(tag, value string) {
			if tag == name {
				column.values[i] = value
			}
		})
	}
	return column
}

// cursor reads numbers and texts from encoded data.
type cursor struct{ data []byte }

func (c *cursor) uvarint() (uint64, bool) {
	if len(c.data) > 0 && c.data[0] < 0x80 { // most numbers have one byte
		n := uint64(c.data[0])
		c.data = c.data[1:]
		return n, true
	}
	n, size := binary.Uvarint(c.data)
	if size <= 0 {
		return 0, false
	}
	c.data = c.data[size:]
	return n, true
}

func (c *cursor) varint() (int64, bool) {
	u, ok := c.uvarint()
	n := int64(u >> 1) //nolint:gosec // zigzag encoding
	if u&1 != 0 {
		n = ^n
	}
	return n, ok
}

func (c *cursor) text() ([]byte, bool) {
	n, ok := c.uvarint()
	if !ok || n > uint64(len(c.data)) {
		return nil, false
	}
	text := c.data[:n]
	c.data = c.data[n:]
	return text, true
}
