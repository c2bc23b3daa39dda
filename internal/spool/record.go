package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// A record is: magic (4 bytes), length of the payload (4), checksum (4), kind (1), payload. A payload begins with the length of the
// request's id (1) and the id. In a begin record, the JSON of an entry follows. In an end record, the following fields follow:
// length of the JSON (4), JSON of the entry, flags (1), length of the request body (4), request body, response body. A split request
// has three more fields between the two bodies: length of its parts (4), parts, length of the whole request (4). Numbers are little
// endian. The checksum is a CRC-32C of kind, length and payload that starts with the salt in the segment's name.
const (
	headerSize = 13
	maxPayload = 256 << 20
)

// beginning holds the fields that an interrupted entry needs. They have the same names as in an entry.
type beginning struct {
	ID string `json:"id"`
	requestlog.Owner
	Time time.Time `json:"time"`
	requestlog.Call
	Session   string            `json:"session,omitempty"`
	EndUser   string            `json:"end_user,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Client    string            `json:"client,omitempty"`
	IP        string            `json:"ip,omitempty"`
	TraceID   string            `json:"trace_id,omitempty"`
	Versions  route.Versions    `json:"versions"`
	BytesIn   int64             `json:"bytes_in"`
	Simulated bool              `json:"simulated,omitempty"`
}

var (
	magic      = []byte("FLR\x01")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

type kind byte

const (
	beginKind kind = 1
	endKind   kind = 2
	noteKind  kind = 3 // record without content, which shows that the disk accepts writes
)

// Flags of a body.
const (
	streamedFlag = 1 << iota
	foldedFlag
	splitFlag
)

var (
	errTorn    = errors.New("record is incomplete")
	errCorrupt = errors.New("record is damaged")
)

type record struct {
	kind kind
	id   string
	rest []byte
}

func checksum(salt uint32, header, payload []byte) uint32 {
	sum := crc32.Update(salt, castagnoli, header[4:8])
	sum = crc32.Update(sum, castagnoli, header[12:13])
	return crc32.Update(sum, castagnoli, payload)
}

// parse reads the record at the beginning of b and returns its length.
func parse(b []byte, salt uint32) (record, int, error) {
	if len(b) < headerSize {
		return record{}, 0, errTorn
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if !bytes.Equal(b[:4], magic) || length > maxPayload || length == 0 {
		return record{}, 0, errCorrupt
	}
	size := headerSize + int(length)
	if len(b) < size {
		return record{}, size, errTorn
	}
	payload := b[headerSize:size]
	if binary.LittleEndian.Uint32(b[8:]) != checksum(salt, b[:headerSize], payload) {
		return record{}, 0, errCorrupt
	}
	end := 1 + int(payload[0])
	if end > len(payload) {
		return record{}, 0, errCorrupt
	}
	return record{kind: kind(b[12]), id: string(payload[1:end]), rest: payload[end:]}, size, nil
}

// resync returns the offset of the next record after damage at the beginning of b, or -1 if no record follows.
func resync(b []byte, salt uint32) int {
	for at := 1; at < len(b); at++ {
		i := bytes.Index(b[at:], magic)
		if i < 0 {
			return -1
		}
		at += i
		if _, _, err := parse(b[at:], salt); err == nil {
			return at
		}
	}
	return -1
}

// begin starts a record in an empty buffer. seal completes the record.
func begin(b *bytes.Buffer, id string) error {
	if len(id) > 255 {
		return fmt.Errorf("request id of %d bytes is too long", len(id))
	}
	var header [headerSize]byte
	b.Write(header[:])
	b.WriteByte(byte(len(id)))
	b.WriteString(id)
	return nil
}

func seal(b []byte, k kind, salt uint32) []byte {
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-headerSize))
	b[12] = byte(k)
	binary.LittleEndian.PutUint32(b[8:], checksum(salt, b[:headerSize], b[headerSize:]))
	return b
}

// encodeBegin writes a begin record.
func encodeBegin(b *bytes.Buffer, e *requestlog.Entry, salt uint32) ([]byte, error) {
	if err := begin(b, e.ID); err != nil {
		return nil, err
	}
	short := beginning{
		ID: e.ID, Owner: e.Owner, Time: e.Time, Call: e.Call, Session: e.Session, EndUser: e.EndUser, Tags: e.Tags,
		Client: e.Client, IP: e.IP, TraceID: e.TraceID, Versions: e.Versions, BytesIn: e.BytesIn, Simulated: e.Simulated,
	}
	if err := encodeJSON(b, &short); err != nil {
		return nil, err
	}
	return seal(b.Bytes(), beginKind, salt), nil
}

// encodeEnd encodes an end record and returns the position of the decision in its JSON.
func encodeEnd(b *bytes.Buffer, e *requestlog.Entry, salt uint32) ([]byte, span, error) {
	if err := begin(b, e.ID); err != nil {
		return nil, span{}, err
	}
	var number [4]byte
	at := b.Len()
	b.Write(number[:])
	decision, err := encodeEntry(b, e)
	if err != nil {
		return nil, span{}, err
	}
	binary.LittleEndian.PutUint32(b.Bytes()[at:], uint32(b.Len()-at-4))
	var flags byte
	if e.Body.Streamed {
		flags |= streamedFlag
	}
	if e.Body.Folded {
		flags |= foldedFlag
	}
	if e.Body.Split {
		flags |= splitFlag
	}
	b.WriteByte(flags)
	writeSized(b, e.Body.Request)
	if e.Body.Split {
		writeSized(b, e.Body.Parts)
		binary.LittleEndian.PutUint32(number[:], uint32(e.Body.Whole))
		b.Write(number[:])
	}
	b.Write(e.Body.Response)
	return seal(b.Bytes(), endKind, salt), decision, nil
}

// writeSized appends a part of a record, prefixed with its length.
func writeSized(b *bytes.Buffer, part []byte) {
	var number [4]byte
	binary.LittleEndian.PutUint32(number[:], uint32(len(part)))
	b.Write(number[:])
	b.Write(part)
}

// scratch is a pool of the copies that encodeEntry makes of entries to encode them without their decision.
var scratch = sync.Pool{New: func() any { return new(requestlog.Entry) }}

// encodeEntry appends the JSON of an entry and returns the position of the decision in that JSON. The decision is encoded
// separately, as the last field, because delivery copies its bytes.
func encodeEntry(b *bytes.Buffer, e *requestlog.Entry) (span, error) {
	start := b.Len()
	rest := scratch.Get().(*requestlog.Entry)
	*rest = *e
	rest.Decision = nil
	err := encodeJSON(b, rest)
	*rest = requestlog.Entry{}
	scratch.Put(rest)
	if err != nil || e.Decision == nil {
		return span{}, err
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(`,"trace":`)
	from := b.Len() - start
	if err := encodeJSON(b, e.Decision); err != nil {
		return span{}, err
	}
	to := b.Len() - start
	b.WriteByte('}')
	return span{from, to}, nil
}

// encodeJSON appends the JSON of v without escapes for HTML and without a newline.
func encodeJSON(b *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// decodeEnd reads an end record's entry. The bodies share memory with the record.
func decodeEnd(rest []byte, e *requestlog.Entry) error {
	meta, bodies, ok := cutSized(rest)
	if !ok || len(bodies) < 1 {
		return errCorrupt
	}
	if err := json.Unmarshal(meta, e); err != nil {
		return err
	}
	return decodeBody(bodies, e)
}

// decodeBody reads the flags and the bodies, which follow the JSON of the entry.
func decodeBody(rest []byte, e *requestlog.Entry) error {
	e.Body.Streamed, e.Body.Folded = rest[0]&streamedFlag != 0, rest[0]&foldedFlag != 0
	request, response, ok := cutSized(rest[1:])
	if !ok {
		return errCorrupt
	}
	if len(request) > 0 {
		e.Body.Request = request
	}
	if rest[0]&splitFlag != 0 {
		parts, after, ok := cutSized(response)
		if !ok || len(after) < 4 {
			return errCorrupt
		}
		e.Body.Split, e.Body.Parts, e.Body.Whole = true, parts, int(binary.LittleEndian.Uint32(after))
		response = after[4:]
	}
	if len(response) > 0 {
		e.Body.Response = response
	}
	return nil
}

func cutSized(b []byte) (head, tail []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > int64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n : 4+n], b[4+n:], true
}

// interrupted returns the entry of a request that was running when its process ended.
func interrupted(begin []byte) (requestlog.Entry, error) {
	var e requestlog.Entry
	if err := json.Unmarshal(begin, &e); err != nil {
		return e, err
	}
	e.Outcome = requestlog.Interrupted
	e.BodyState = requestlog.BodyNone
	e.Attempts = []requestlog.Attempt{}
	e.Error = &requestlog.Failure{
		Code:    llm.Internal.Code(),
		Message: "The gateway stopped before this request had ended.",
		Origin:  llm.FromGateway,
	}
	return e, nil
}
