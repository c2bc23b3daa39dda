package simulator

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// vector returns the embedding of a text, a unit vector: the sum of a fixed direction for each word, so that texts with common words
// are similar.
func vector(text string, size int) []float32 {
	if size == 0 {
		return []float32{0.6, 0.8}
	}
	sum := make([]float64, size)
	for _, word := range append(strings.Fields(strings.ToLower(text)), "") {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(word))
		state := hash.Sum64()
		for i := range sum {
			state ^= state << 13 // xorshift
			state ^= state >> 7
			state ^= state << 17
			sum[i] += float64(state&1)*2 - 1
		}
	}
	var square float64
	for _, v := range sum {
		square += v * v
	}
	unit := make([]float32, size)
	for i, v := range sum {
		unit[i] = float32(v / math.Sqrt(max(square, 1)))
	}
	return unit
}

// embeddings returns the response of the embeddings endpoint.
func (b Behaviour) embeddings(call *Call) Object {
	root := call.document()
	inputs := root.get("input").list()
	if len(inputs) > 0 && inputs[0].value != nil && inputs[0].text() == "" && !inputs[0].isList() {
		inputs = []node{root.get("input")} // the IDs of one input
	}
	data, tokens := []Object{}, 0
	for i, input := range inputs {
		text := cmp.Or(input.text(), string(input.raw()))
		tokens += Tokens(len(text))
		unit := vector(text, cmp.Or(root.get("dimensions").number(), b.Dimensions))
		var value any = unit
		if root.get("encoding_format").text() == "base64" {
			raw := make([]byte, 0, 4*len(unit))
			for _, v := range unit {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			value = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, Object{"object": "embedding", "index": i, "embedding": value})
	}
	r := b.reply(call)
	if b.Reply != nil {
		r.Usage = Usage{Input: tokens}
	}
	o := Object{"object": "list", "model": r.model, "data": data}
	r.setUsage(o, "usage", Object{"prompt_tokens": r.Usage.Input, "total_tokens": r.Usage.Input})
	return o
}

var moderationCategories = []string{
	"harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
	"self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
}

// moderations flags inputs with the word "kill" as violence. As at OpenAI, the response has no usage unless the script sets one.
func (b Behaviour) moderations(call *Call) Object {
	input := call.document().get("input")
	inputs := input.list()
	if slices.ContainsFunc(inputs, func(n node) bool { return n.get("type").exists() }) {
		inputs = []node{input} // the parts of one input
	}
	results := []Object{}
	for _, input := range inputs {
		flagged := strings.Contains(string(input.raw()), "kill")
		categories, scores, types := Object{}, Object{}, Object{}
		for _, category := range moderationCategories {
			categories[category], scores[category], types[category] = false, 0.0001, []string{"text"}
		}
		if flagged {
			categories["violence"], scores["violence"] = true, 0.95
		}
		results = append(results, Object{"flagged": flagged, "categories": categories, "category_scores": scores, "category_applied_input_types": types})
	}
	r := b.reply(call)
	o := Object{"id": "modr-" + r.ID, "model": r.model, "results": results}
	if r.usageJSON != "" {
		r.setUsage(o, "usage", nil)
	}
	return o
}

// pixel is a transparent PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// other returns the response of an endpoint that is not a conversation, or nil for a conversation.
func (b Behaviour) other(call *Call) (contentType string, body []byte) {
	object := func(o Object) (string, []byte) { return "application/json", Encode(o) }
	switch path := call.Path; {
	case strings.HasSuffix(path, "/embeddings"):
		return object(b.embeddings(call))
	case strings.HasSuffix(path, "/moderations"):
		return object(b.moderations(call))
	case strings.HasSuffix(path, "/audio/speech"):
		return "audio/mpeg", []byte("simulated speech")
	case strings.HasSuffix(path, "/audio/transcriptions"), strings.HasSuffix(path, "/audio/translations"):
		return object(Object{"text": "This is a simulated transcript."})
	case strings.HasSuffix(path, "/images/generations"), strings.HasSuffix(path, "/images/edits"):
		return object(Object{"created": created, "data": []Object{{"b64_json": pixel}}})
	case strings.HasSuffix(path, "/rerank"):
		results := []Object{}
		for i := range call.document().get("documents").list() {
			results = append(results, Object{"index": i, "relevance_score": 1 / float64(i+1)})
		}
		return object(Object{"id": "rerank-" + b.reply(call).ID, "results": results})
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return object(Object{"input_tokens": call.Read().Length()})
	case strings.HasPrefix(path, "/model/") && strings.HasSuffix(path, "/invoke"):
		root := call.document()
		text := root.get("inputText").text()
		return object(Object{
			"embedding": vector(text, cmp.Or(root.get("dimensions").number(), b.Dimensions)), "inputTextTokenCount": Tokens(len(text)),
		})
	}
	if _, method := modelInPath(call.Path); formatOf(call.Path) == geminiFormat {
		if o := geminiOther(call, method, b.Dimensions); o != nil {
			return object(o)
		}
	}
	return "", nil
}
