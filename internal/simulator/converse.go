package simulator

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/url"
	"strings"
)

// modelAndAction returns the model and the action in a path such as /model/MODEL/converse. The model is escaped in the path.
func modelAndAction(path string) (model, action string) {
	escaped, action, _ := strings.Cut(strings.TrimPrefix(path, "/model/"), "/")
	model, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped, action
	}
	return model, action
}

func readConverse(call *Call) *Conversation {
	root := call.document()
	thinking, choice := root.get("additionalModelRequestFields", "thinking", "type").text(), root.get("toolConfig", "toolChoice")
	c := &Conversation{
		Model: call.Model, Limit: root.get("inferenceConfig", "maxTokens").number(), callID: "tooluse_", Marks: true,
		Think: thinking != "" && thinking != "disabled",
		Must:  choice.get("any").exists() || choice.get("tool").exists(),
		Only:  choice.get("tool", "name").text(),
		Stops: root.get("inferenceConfig", "stopSequences").texts(),
	}
	c.addSystem(converseParts(root.get("system")))
	for _, t := range root.get("toolConfig", "tools").list() {
		if spec := t.get("toolSpec"); spec.exists() {
			c.Tools = append(c.Tools, Tool{Name: spec.get("name").text(), Schema: spec.get("inputSchema", "json").raw()})
		}
	}
	if schema := root.get("outputConfig", "textFormat", "structure", "jsonSchema", "schema").text(); schema != "" {
		c.Schema = json.RawMessage(schema)
	}
	for _, m := range root.get("messages").list() {
		c.add(m.get("role").text() == "assistant", false, converseParts(m.get("content"))...)
	}
	c.Prefix = markedPrefix(root, "cachePoint", root.get("toolConfig", "tools"), root.get("system"))
	return c
}

func converseParts(content node) []Part {
	var list []Part
	for _, b := range content.list() {
		call, result, reasoning := b.get("toolUse"), b.get("toolResult"), b.get("reasoningContent")
		switch {
		case call.exists():
			list = append(list, Part{Kind: CallPart, ID: call.get("toolUseId").text(), Name: call.get("name").text(), Input: call.get("input").raw()})
		case result.exists():
			var texts []string
			for _, b := range result.get("content").list() {
				texts = append(texts, cmp.Or(string(b.get("json").raw()), b.get("text").text()))
			}
			list = append(list, Part{Kind: ResultPart, ID: result.get("toolUseId").text(), Text: strings.Join(texts, " "), Failed: result.get("status").text() == "error"})
		case reasoning.get("redactedContent").exists():
			list = append(list, Part{Kind: RedactedPart, Signature: reasoning.get("redactedContent").text()})
		case reasoning.exists():
			text := reasoning.get("reasoningText")
			list = append(list, Part{Kind: ThinkingPart, Text: text.get("text").text(), Signature: text.get("signature").text()})
		case b.get("image").exists():
			list = append(list, inlineMedia("image/"+b.get("image", "format").text(), b.get("image", "source", "bytes").text()))
		case b.get("document").exists():
			list = append(list, inlineMedia("application/"+b.get("document", "format").text(), b.get("document", "source", "bytes").text()))
		case b.get("text").exists():
			list = append(list, Part{Kind: TextPart, Text: b.get("text").text()})
		}
	}
	return list
}

var converseKinds = map[int]string{
	400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	424: "ModelErrorException", 429: "ThrottlingException", 503: "ServiceUnavailableException",
}

// converseErrorType returns the header x-amzn-ErrorType of a status.
func converseErrorType(status int) string {
	return kindOf(status, converseKinds, "InternalServerException")
}

func converseError(_ int, message, _ string) Object { return Object{"message": message} }

var converseReasons = map[Finish]string{
	Completed: "end_turn", CallsTools: "tool_use", LimitReached: "max_tokens", StopSequence: "stop_sequence", Rejected: "content_filtered",
	Blocked: "guardrail_intervened",
}

func converseBody(_ *Call, _ *Conversation, r *Reply) Object {
	content := []Object{}
	for _, p := range r.Parts {
		content = append(content, converseBlock(p))
	}
	o := Object{
		"output": Object{"message": Object{"role": "assistant", "content": content}}, "stopReason": converseReasons[r.Finish],
		"metrics": Object{"latencyMs": 42},
	}
	r.setUsage(o, "usage", converseUsage(r))
	return o
}

func converseUsage(r *Reply) Object {
	input := max(r.Usage.Input-r.Usage.CacheRead-r.Usage.CacheWrite, 1)
	return Object{
		"inputTokens": input, "outputTokens": r.Usage.Output, "cacheReadInputTokens": r.Usage.CacheRead, "cacheWriteInputTokens": r.Usage.CacheWrite,
		"totalTokens": input + r.Usage.Output + r.Usage.CacheRead + r.Usage.CacheWrite,
	}
}

func converseBlock(p Part) Object {
	switch p.Kind {
	case CallPart:
		return Object{"toolUse": Object{"toolUseId": p.ID, "name": p.Name, "input": p.Input}}
	case ThinkingPart:
		return Object{"reasoningContent": Object{"reasoningText": Object{"text": p.Text, "signature": p.Signature}}}
	case RedactedPart:
		return Object{"reasoningContent": Object{"redactedContent": p.Signature}}
	default:
		return Object{"text": p.Text}
	}
}

// converseFrames returns binary events. Only tool calls have a start event, and usage follows the stop event.
func converseFrames(_ *Call, _ *Conversation, r *Reply) [][]byte {
	var list [][]byte
	send := func(name string, payload Object) { list = append(list, binaryEvent("event", name, payload)) }
	send("messageStart", Object{"role": "assistant"})
	for i, p := range r.Parts {
		if p.Kind == CallPart {
			send("contentBlockStart", Object{"contentBlockIndex": i, "start": Object{"toolUse": Object{"toolUseId": p.ID, "name": p.Name}}})
		}
		for _, delta := range converseDeltas(p) {
			send("contentBlockDelta", Object{"contentBlockIndex": i, "delta": delta})
		}
		send("contentBlockStop", Object{"contentBlockIndex": i})
	}
	send("messageStop", Object{"stopReason": converseReasons[r.Finish]})
	end := Object{"metrics": Object{"latencyMs": 42}}
	r.setUsage(end, "usage", converseUsage(r))
	send("metadata", end)
	return list
}

func converseDeltas(p Part) []Object {
	var list []Object
	switch p.Kind {
	case CallPart:
		for _, piece := range pieces(string(p.Input)) {
			list = append(list, Object{"toolUse": Object{"input": piece}})
		}
	case ThinkingPart:
		for _, piece := range pieces(p.Text) {
			list = append(list, Object{"reasoningContent": Object{"text": piece}})
		}
		list = append(list, Object{"reasoningContent": Object{"signature": p.Signature}})
	case RedactedPart:
		list = append(list, Object{"reasoningContent": Object{"redactedContent": p.Signature}})
	default:
		for _, piece := range p.pieces() {
			list = append(list, Object{"text": piece})
		}
	}
	return list
}

// binaryEvent encodes one message of the binary event stream: lengths, their checksum, headers, payload, and the checksum of
// everything.
func binaryEvent(messageType, name string, payload Object) []byte {
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
	data := Encode(payload)
	const prelude, checksum = 8, 4
	frame := binary.BigEndian.AppendUint32(nil, uint32(prelude+checksum+headers.Len()+len(data)+checksum))
	frame = binary.BigEndian.AppendUint32(frame, uint32(headers.Len()))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, headers.Bytes()...), data...)
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}
