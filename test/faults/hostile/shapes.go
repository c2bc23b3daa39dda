package hostile

import (
	"fmt"
	"strings"
)

// shape is a request with ambiguous or invalid framing.
type shape struct{ name, text string }

const start = "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer <KEY>\r\n"

// shapes lists the smuggling attempts. <INNER> is a valid request that must not be executed; <OUTER> is the body of the outer
// request.
func shapes() []shape {
	var list []shape
	add := func(name, text string) { list = append(list, shape{name, text}) }

	// Two contradictory lengths. According to Content-Length, everything after the headers is the body. According to the chunks, the
	// body is empty and <INNER> is another request.
	both := start + "%s\r\nContent-Length: <#ALL>\r\n\r\n0\r\n\r\n<INNER>"
	for _, te := range []string{
		"Transfer-Encoding: chunked", "Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: xchunked",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: chunked, chunked",
		"Transfer-Encoding: \x0bchunked", "Transfer-Encoding: chunked\x0b", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked;q=1",
		"Transfer-Encoding:\r\n chunked", "Transfer-Encoding\r\n: chunked", "X: x\nTransfer-Encoding: chunked", "X: x\rTransfer-Encoding: chunked",
		"transfer-encoding: CHUNKED", "Transfer_Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: ", " Transfer-Encoding: chunked",
		"Transfer-Encoding\x00: chunked", "Transfer-Encoding: chunked\x00", "Foo: bar\r\n\tTransfer-Encoding: chunked",
	} {
		add("both: "+te, fmt.Sprintf(both, te))
	}
	add("length before chunks", start+"Content-Length: <#ALL>\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n<INNER>")
	add("chunks hold more than the length", start+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n<#xOUTER>\r\n<OUTER>\r\n0\r\n\r\n<INNER>")
	add("HTTP/1.0 with chunks", strings.Replace(start, "HTTP/1.1", "HTTP/1.0", 1)+"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: <#ALL>\r\n\r\n0\r\n\r\n<INNER>")

	// Invalid or duplicate lengths.
	for _, cl := range []string{
		"+<#OUTER>", "-1", "<#OUTER>, <#OUTER>0", "<#OUTER>, 0", "0x10", "1e1", "<#OUTER> <#OUTER>", "<#OUTER>;", "", "<#OUTER>\x00", "٣", "18446744073709551617",
		"9223372036854775808", "<#OUTER>\r\nContent-Length: 0", "0\r\nContent-Length: <#OUTER>", "\x0b<#OUTER>", "0\r\n Content-Length: 5",
	} {
		add("length: "+cl, start+"Content-Length: "+cl+"\r\n\r\n<OUTER>")
	}
	add("a length of zero before a body", start+"Content-Length: 0\r\nConnection: close\r\n\r\n<INNER>")

	// Invalid chunks.
	chunks := start + "Transfer-Encoding: chunked\r\n\r\n%s"
	for _, body := range []string{
		"0x<#xOUTER>\r\n<OUTER>\r\n0\r\n\r\n", "+<#xOUTER>\r\n<OUTER>\r\n0\r\n\r\n", "-1\r\n<OUTER>\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF1\r\n<OUTER>\r\n0\r\n\r\n<INNER>",
		"<#xOUTER>\r\n<OUTER>0\r\n\r\n<INNER>", "<#xOUTER>\r\n<OUTER>XX0\r\n\r\n<INNER>", "g\r\n<INNER>", "\r\n<#xOUTER>\r\n<OUTER>\r\n0\r\n\r\n<INNER>",
		"1\r\n<OUTER>\r\n0\r\n\r\n<INNER>", "<#xOUTER>;" + strings.Repeat("x", 20<<10) + "\r\n<OUTER>\r\n0\r\n\r\n<INNER>",
		"7fffffffffffffff\r\n<INNER>",
	} {
		add("chunk: "+head20(body), fmt.Sprintf(chunks, body))
	}
	trailers := start + "Trailer: Content-Length\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n<#xOUTER>\r\n<OUTER>\r\n0\r\nContent-Length: 5\r\nHost: evil\r\nAuthorization: Bearer x\r\n\r\n<INNER>"
	add("trailers", trailers)

	// Malformed request lines and headers.
	closing := "Connection: close\r\nContent-Length: <#OUTER>\r\n\r\n<OUTER><INNER>"
	for _, line := range []string{
		"POST  /proxy/v1/chat/completions HTTP/1.1", "POST /proxy/v1/chat/completions  HTTP/1.1", "POST /proxy/v1/chat/completions HTTP/1.1 x", "POST /proxy/v1/chat/completions HTTP/1.2",
		"POST /proxy/v1/chat/completions HTTP/3.0", "POST /proxy/v1/chat/completions", "POST\t/proxy/v1/chat/completions\tHTTP/1.1", "PO ST /proxy/v1/chat/completions HTTP/1.1",
		"POST http://evil.example/proxy/v1/chat/completions HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1", "PRI * HTTP/2.0", "POST /proxy/v1/chat/completions\x00 HTTP/1.1",
		"POST /proxy/v1/chat/completions#/../../api/v1/keys HTTP/1.1", "POST /proxy/v1/chat%2fcompletions HTTP/1.1",
	} {
		add("line: "+line, strings.Replace(start, "POST /proxy/v1/chat/completions HTTP/1.1", line, 1)+closing)
	}
	for _, extra := range []string{
		"Host: evil.example", "Content-Type : text/plain", "Bad Name: x", "Bad\x01Name: x", "X-Value: a\x00b", "X-Value: a\rb", ": empty", "NoColon",
		"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings",
	} {
		add("header: "+extra, start+extra+"\r\n"+closing)
	}
	return list
}

func head20(s string) string { return s[:min(len(s), 20)] }
