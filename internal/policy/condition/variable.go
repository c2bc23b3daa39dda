package condition

import (
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// Field describes a variable of conditions, for editors and the reference.
type Field struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"` // text, number, true or false, map of text, or time
	Doc    string   `json:"doc"`
	Values []string `json:"values,omitempty"` // possible values; nil if the values are not fixed
}

// Fields lists the variables of conditions.
func Fields() []Field {
	var fields []Field
	for _, v := range variables() {
		if !v.hidden() {
			fields = append(fields, Field{Name: v.name, Type: typeName(v.typ), Doc: v.doc, Values: v.values})
		}
	}
	return fields
}

// variable is a variable that conditions can use. The whole dotted name, such as request.task, is a single CEL variable.
type variable struct {
	name string
	kind
	doc string
}

// kind is the type of a variable with the function that returns its value.
type kind struct {
	typ    *cel.Type
	get    func(scope) ref.Val
	values []string // possible values; nil if the values are not fixed
}

func text(get func(*Facts) string) kind {
	return kind{typ: cel.StringType, get: func(s scope) ref.Val { return types.String(get(s.facts)) }}
}

// enum returns the kind of a string field with a fixed set of values. The CEL values are created once to avoid allocations.
func enum(values []string, get func(*Facts) string) kind {
	made := map[string]ref.Val{}
	for _, v := range values {
		made[v] = types.String(v)
	}
	return kind{values: values, typ: cel.StringType, get: func(s scope) ref.Val {
		text := get(s.facts)
		if v, ok := made[text]; ok {
			return v
		}
		return types.String(text)
	}}
}

func number(get func(*Facts) int64) kind {
	return kind{typ: cel.IntType, get: func(s scope) ref.Val { return types.Int(get(s.facts)) }}
}

func flag(get func(*Facts) bool) kind {
	return kind{typ: cel.BoolType, get: func(s scope) ref.Val { return types.Bool(get(s.facts)) }}
}

func stringMap(get func(*Facts) map[string]string) kind {
	return kind{typ: cel.MapType(cel.StringType, cel.StringType), get: func(s scope) ref.Val { return &labels{texts: get(s.facts)} }}
}

// byZone returns the kind of a variable that maps time zones to local times.
func byZone(typ *cel.Type, convert func(time.Time) ref.Val) kind {
	return kind{typ: cel.MapType(cel.StringType, typ), get: func(s scope) ref.Val { return &clock{at: s.facts.Time.At, zones: s.zones, of: convert} }}
}

// hidden reports whether the variable implements a function. Its name starts with @, so conditions cannot use it directly.
func (v variable) hidden() bool { return strings.HasPrefix(v.name, "@") }

func variables() []variable {
	hour := func(t time.Time) int64 { return int64(t.Hour()) }
	weekday := func(t time.Time) string { return strings.ToLower(t.Weekday().String()) }
	date := func(t time.Time) string { return t.Format(time.DateOnly) }
	var weekdays []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		weekdays = append(weekdays, strings.ToLower(d.String()))
	}
	return append(requestVariables(), []variable{
		{name: "key.id", kind: text(func(f *Facts) string { return f.Key.ID }), doc: "id of the API key; empty in the playground"},
		{name: "key.name", kind: text(func(f *Facts) string { return f.Key.Name }), doc: "name of the API key"},
		{name: "key.tags", kind: stringMap(func(f *Facts) map[string]string { return f.Key.Tags }), doc: "tags of the API key, which its caller cannot change; a missing tag is empty"},
		{name: "workspace.id", kind: text(func(f *Facts) string { return f.Workspace.ID }), doc: "id of the workspace"},
		{name: "workspace.name", kind: text(func(f *Facts) string { return f.Workspace.Name }), doc: "name of the workspace"},
		{name: "time.at", kind: kind{typ: cel.TimestampType, get: func(s scope) ref.Val { return types.Timestamp{Time: s.facts.Time.At} }}, doc: "when the request was received"},
		{name: "time.hour", kind: number(func(f *Facts) int64 { return hour(f.Time.At.UTC()) }), doc: "hour of the day, 0 to 23, in UTC; time.hour(\"Europe/Berlin\") in another zone"},
		{name: "time.weekday", kind: enum(weekdays, func(f *Facts) string { return weekday(f.Time.At.UTC()) }), doc: "day of the week in UTC; time.weekday(\"Europe/Berlin\") in another zone"},
		{name: "time.date", kind: text(func(f *Facts) string { return date(f.Time.At.UTC()) }), doc: "date in UTC, such as 2026-12-24; time.date(\"Europe/Berlin\") in another zone"},
		{name: "@hour", kind: byZone(cel.IntType, func(t time.Time) ref.Val { return types.Int(hour(t)) })},
		{name: "@weekday", kind: byZone(cel.StringType, func(t time.Time) ref.Val { return types.String(weekday(t)) })},
		{name: "@date", kind: byZone(cel.StringType, func(t time.Time) ref.Val { return types.String(date(t)) })},
	}...)
}

func requestVariables() []variable {
	needs := func(a llm.Abilities) func(*Facts) bool {
		return func(f *Facts) bool { return f.Request.Needs&a != 0 }
	}
	ops := texts(llm.Chat, llm.Embed, llm.Complete, llm.Moderate, llm.Count, llm.Speech, llm.Transcribe, llm.GenerateImages, llm.Rerank, llm.Realtime)
	modes := texts(predict.Plan, predict.Subagent)
	return []variable{
		{name: "request.model", kind: text(func(f *Facts) string { return f.Request.Model }), doc: "model as the caller wrote it"},
		{name: "request.auto", kind: flag(func(f *Facts) bool { return f.Request.Auto }), doc: "the router chooses the model"},
		{name: "request.op", kind: enum(ops, func(f *Facts) string { return string(f.Request.Op) }), doc: "requested operation"},
		{name: "request.format", kind: enum([]string{"chat", "responses", "messages", "gemini"}, func(f *Facts) string { return f.Request.Format }), doc: "wire format of the request"},
		{name: "request.source", kind: enum([]string{"key", "playground"}, func(f *Facts) string { return f.Request.Source }), doc: "where the request came from"},
		{name: "request.task", kind: enum(texts(predict.Families()...), func(f *Facts) string { return string(f.Request.Task) }), doc: "task type, estimated from the prompt"},
		{name: "request.language", kind: text(func(f *Facts) string { return f.Request.Language }), doc: "language of the prompt as two letters, such as de; empty if unknown"},
		{name: "request.tokens", kind: number(func(f *Facts) int64 { return f.Request.Tokens }), doc: "estimated input tokens"},
		{name: "request.max_output", kind: number(func(f *Facts) int64 { return f.Request.MaxOutput }), doc: "output tokens the caller allows; 0 without a limit"},
		{name: "request.messages", kind: number(func(f *Facts) int64 { return int64(f.Request.Messages) }), doc: "messages in the conversation"},
		{name: "request.client", kind: text(func(f *Facts) string { return f.Request.Client }), doc: "recognised client, such as claude_code; empty if unknown"},
		{name: "request.mode", kind: enum(modes, func(f *Facts) string { return string(f.Request.Mode) }), doc: "mode of an agent; empty if unknown"},
		{name: "request.purpose", kind: enum(texts(predict.Housekeeping), func(f *Facts) string { return string(f.Request.Purpose) }), doc: "housekeeping for a call that a client makes for itself, such as a title; empty for a user task"},
		{name: "request.trouble", kind: number(func(f *Facts) int64 { return int64(f.Request.Trouble) }), doc: "how stuck the task is, from 0 to 6; escalation starts at 3"},
		{name: "request.images", kind: number(func(f *Facts) int64 { return int64(f.Request.Images) }), doc: "images in the conversation"},
		{name: "request.choices", kind: number(func(f *Facts) int64 { return int64(f.Request.Choices) }), doc: "requested number of choices (n)"},
		{name: "request.stream", kind: flag(func(f *Facts) bool { return f.Request.Stream }), doc: "the response is streamed"},
		{name: "request.tools", kind: flag(needs(llm.Tools | llm.ParallelTools)), doc: "tools are offered to the model"},
		{name: "request.vision", kind: flag(needs(llm.Vision)), doc: "the prompt has images"},
		{name: "request.audio", kind: flag(needs(llm.AudioIn | llm.AudioOut)), doc: "audio input or output"},
		{name: "request.files", kind: flag(needs(llm.Files)), doc: "files are attached"},
		{name: "request.json", kind: flag(needs(llm.JSONMode | llm.JSONSchema)), doc: "the response must be JSON"},
		{name: "request.reasoning", kind: flag(needs(llm.Reasoning)), doc: "the caller asks for reasoning"},
		{name: "request.objective", kind: enum(append(Objectives(), "auto", "number"), func(f *Facts) string { return f.Request.Objective }), doc: "objective of auto set by the caller; number if the caller gave a number"},
		{name: "request.end_user", kind: text(func(f *Facts) string { return f.Request.EndUser }), doc: "user ID set by the caller (user, safety_identifier)"},
		{name: "request.session", kind: text(func(f *Facts) string { return f.Request.Session }), doc: "session ID set by the caller; empty without one"},
		{name: "request.metadata", kind: stringMap(func(f *Facts) map[string]string { return f.Request.Metadata }), doc: "the metadata field of the request; a missing entry is empty"},
		{name: "request.tags", kind: stringMap(func(f *Facts) map[string]string { return f.Request.Tags }), doc: "tags of the key with those that the caller adds (X-Fairlead-Tags); a missing tag is empty"},
	}
}

func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// Objectives lists the named routing objectives.
func Objectives() []string { return []string{"cost", "quality", "speed"} }

// typeName returns a readable name of a type.
func typeName(t *cel.Type) string {
	switch t.Kind() {
	case types.StringKind:
		return "text"
	case types.BoolKind:
		return "true or false"
	case types.IntKind, types.UintKind, types.DoubleKind:
		return "number"
	case types.TimestampKind:
		return "time"
	case types.DurationKind:
		return "duration"
	case types.ListKind:
		return "list"
	case types.MapKind:
		return "map of text"
	default:
		return t.String()
	}
}
