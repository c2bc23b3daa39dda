package bedrock

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// eventFrame encodes one message of the binary event stream: lengths, their checksum, headers, payload, and the
// checksum of everything.
func eventFrame(messageType, name string, payload []byte) []byte {
	var headers bytes.Buffer
	header := func(name, value string) {
		const isString = 7
		headers.WriteByte(byte(len(name)))
		headers.WriteString(name)
		headers.WriteByte(isString)
		headers.Write(binary.BigEndian.AppendUint16(nil, uint16(len(value))))
		headers.WriteString(value)
	}
	header(":"+messageType+"-type", name)
	header(":content-type", "application/json")
	header(":message-type", messageType)

	const prelude, checksum = 8, 4
	frame := binary.BigEndian.AppendUint32(nil, uint32(prelude+checksum+headers.Len()+len(payload)+checksum))
	frame = binary.BigEndian.AppendUint32(frame, uint32(headers.Len()))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(frame, headers.Bytes()...)
	frame = append(frame, payload...)
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}

func itoa(n int) string { return strconv.Itoa(n) }
