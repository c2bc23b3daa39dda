package reportstore

import (
	"encoding/binary"
	"slices"

	"fairlead.dev/internal/report"
)

// column is an encoded list of numbers. All numbers have the same size, which is 0, 1, 2, 4 or 8 bytes, so a number can be read without
// reading the numbers before it.
type column struct {
	width int
	data  []byte
}

// appendColumn appends numbers in the form that cursor.column reads.
func appendColumn(to []byte, numbers []uint64) []byte {
	width := 0
	if len(numbers) > 0 {
		switch highest := slices.Max(numbers); {
		case highest == 0:
		case highest < 1<<8:
			width = 1
		case highest < 1<<16:
			width = 2
		case highest < 1<<32:
			width = 4
		default:
			width = 8
		}
	}
	to = append(to, byte(width))
	for _, n := range numbers {
		var buffer [8]byte
		binary.LittleEndian.PutUint64(buffer[:], n)
		to = append(to, buffer[:width]...)
	}
	return to
}

// at returns the number at index i.
func (c *column) at(i int) uint64 {
	switch c.width {
	case 0:
		return 0
	case 1:
		return uint64(c.data[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(c.data[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(c.data[4*i:]))
	}
	return binary.LittleEndian.Uint64(c.data[8*i:])
}

// signed returns the number at index i, which was encoded with zigzag.
func (c *column) signed(i int) int64 {
	u := c.at(i)
	return int64(u>>1) ^ -int64(u&1) //nolint:gosec // zigzag encoding keeps all bits
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) } //nolint:gosec // the conversion keeps all bits, and signed reverses it

// dictionary stores each distinct string once, and for each row the index of its string.
type dictionary struct {
	ids    map[string]uint64
	values []string
	index  []uint64
}

func (d *dictionary) add(value string) {
	id, ok := d.ids[value]
	if !ok {
		if d.ids == nil {
			d.ids = map[string]uint64{}
		}
		id = uint64(len(d.values))
		d.ids[value] = id
		d.values = append(d.values, value)
	}
	d.index = append(d.index, id)
}

func (d *dictionary) append(to []byte) []byte {
	var values []byte
	for _, value := range d.values {
		values = appendText(values, value)
	}
	to = binary.AppendUvarint(to, uint64(len(d.values)))
	return appendColumn(appendText(to, values), d.index)
}

// textColumn is a stored dictionary. Its values are parsed on first use.
type textColumn struct {
	count   int
	encoded []byte
	index   column
	parsed  []string
}

func (t *textColumn) values() ([]string, error) {
	if t.parsed != nil {
		return t.parsed, nil
	}
	values, c, all := make([]string, t.count), cursor{t.encoded}, string(t.encoded)
	for i := range values {
		text, ok := c.text()
		if !ok {
			return nil, errBlock
		}
		end := len(all) - len(c.data)
		values[i] = all[end-len(text) : end]
	}
	t.parsed = values
	return values, nil
}

// texts is a parsed text column: the distinct values, and for each row the index of its value.
type texts struct {
	values []string
	index  column
}

func appendText[T string | []byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// cursor reads encoded data.
type cursor struct{ data []byte }

func (c *cursor) uvarint() (uint64, bool) {
	n, size := binary.Uvarint(c.data)
	if size <= 0 {
		return 0, false
	}
	c.data = c.data[size:]
	return n, true
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

// column reads n numbers.
func (c *cursor) column(n int) (column, bool) {
	if len(c.data) == 0 {
		return column{}, false
	}
	width := int(c.data[0])
	if width > 8 || width&(width-1) != 0 || n*width > len(c.data)-1 {
		return column{}, false
	}
	found := column{width, c.data[1 : 1+n*width]}
	c.data = c.data[1+n*width:]
	return found, true
}

// dictionary reads a text column with n rows.
func (c *cursor) dictionary(n int) (t textColumn, ok bool) {
	count, ok := c.uvarint()
	if !ok || count > uint64(len(c.data)) {
		return t, false
	}
	t.count = int(count) //nolint:gosec // the count is at most the length of the data
	if t.encoded, ok = c.text(); !ok {
		return t, false
	}
	t.index, ok = c.column(n)
	return t, ok
}

// rows is the input of a query: facts, or the sums of a day. The query groups the rows and adds them.
type rows interface {
	len() int
	texts(d report.Dimension) (texts, error)
	// skips reports whether a row is outside the time range of the query.
	skips(i int) bool
	// weigh returns the value of the measure in a row, and the number of requests.
	weigh(i int, m report.Measure) (measure, requests int64)
	addTo(i int, r *report.Row) error
}
