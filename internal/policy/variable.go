package policy

import (
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"fairlead/internal/llm"
	"fairlead/internal/predict"
)

// Field is a name that conditions can use, for editors and references.
type Field struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"` // text, number, true or false, texts by name, time
	Doc    string   `json:"doc"`
	Values []string `json:"values,omitempty"` // all that it can be, where that is a closed list
}

// Fields lists every name that conditions can use.
func Fields() []Field {
	var fields []Field
	for _, v := range variables() {
		if !v.hidden() {
			fields = append(fields, Field{Name: v.name, Type: typeName(v.typ), Doc: v.doc, Values: v.values})
		}
	}
	return fields
}

// variable is a name in conditions. CEL knows each dotted name as one variable: there is no request, only request.task.
type variable struct {
	name string
	kind
	doc    string
	values []string
}

// kind is the type of a variable, and where its value comes from.
type kind struct {
	typ *cel.Type
	get func(scope) ref.Val
}

func text(get func(*Facts) string) kind {
	return kind{cel.StringType, func(s scope) ref.Val { return types.String(get(s.facts)) }}
}

// choice is a text of a closed list. Its values are made once: a value that CEL can compute with costs an allocation.
func choice(values []string, get func(*Facts) string) kind {
	made := map[string]ref.Val{}
	for _, v := range values {
		made[v] = types.String(v)
	}
	return kind{cel.StringType, func(s scope) ref.Val {
		text := get(s.facts)
		if v, ok := made[text]; ok {
			return v
		}
		return types.String(text)
	}}
}

func number(get func(*Facts) int64) kind {
	return kind{cel.IntType, func(s scope) ref.Val { return types.Int(get(s.facts)) }}
}

func flag(get func(*Facts) bool) kind {
	return kind{cel.BoolType, func(s scope) ref.Val { return types.Bool(get(s.facts)) }}
}

func moment(get func(*Facts) time.Time) kind {
	return kind{cel.TimestampType, func(s scope) ref.Val { return types.Timestamp{Time: get(s.facts)} }}
}

func texts(get func(*Facts) map[string]string) kind {
	return kind{textsType(), func(s scope) ref.Val { return newLabels(get(s.facts)) }}
}

// byZone is what the clock shows in the zone that is asked for.
func byZone(typ *cel.Type, of func(time.Time) ref.Val) kind {
	return kind{cel.MapType(cel.StringType, typ), func(s scope) ref.Val { return &clock{at: s.facts.Time.At, zones: s.zones, of: of} }}
}

func textsType() *cel.Type { return cel.MapType(cel.StringType, cel.StringType) }

// hidden variables stand for functions, and cannot be written by people: their names begin with a sign.
func (v variable) hidden() bool { return strings.HasPrefix(v.name, "@") }

func variables() []variable {
	return append(requestVariables(), []variable{
		{name: "key.id", kind: text(func(f *Facts) string { return f.Key.ID }), doc: "id of the API key; empty in the playground"},
		{name: "key.name", kind: text(func(f *Facts) string { return f.Key.Name }), doc: "name of the API key"},
		{name: "key.tags", kind: texts(func(f *Facts) map[string]string { return f.Key.Tags }), doc: "tags of the API key, which its caller cannot change; a tag that is not there is empty"},
		{name: "workspace.id", kind: text(func(f *Facts) string { return f.Workspace.ID }), doc: "id of the workspace"},
		{name: "workspace.name", kind: text(func(f *Facts) string { return f.Workspace.Name }), doc: "name of the workspace"},
		{name: "time.at", kind: moment(func(f *Facts) time.Time { return f.Time.At }), doc: "when the request came in"},
		{name: "time.hour", kind: number(func(f *Facts) int64 { return hourIn(f.Time.At.UTC()) }), doc: "hour of the day, 0 to 23, in UTC; time.hour(\"Europe/Berlin\") in another zone"},
		{name: "time.weekday", kind: choice(weekdays(), func(f *Facts) string { return weekdayIn(f.Time.At.UTC()) }), doc: "day of the week in UTC; time.weekday(\"Europe/Berlin\") in another zone", values: weekdays()},
		{name: "time.date", kind: text(func(f *Facts) string { return dateIn(f.Time.At.UTC()) }), doc: "date in UTC, such as 2026-12-24; time.date(\"Europe/Berlin\") in another zone"},
		{name: "@hour", kind: byZone(cel.IntType, func(t time.Time) ref.Val { return types.Int(hourIn(t)) })},
		{name: "@weekday", kind: byZone(cel.StringType, func(t time.Time) ref.Val { return types.String(weekdayIn(t)) })},
		{name: "@date", kind: byZone(cel.StringType, func(t time.Time) ref.Val { return types.String(dateIn(t)) })},
	}...)
}

func requestVariables() []variable {
	needs := func(a llm.Abilities) func(*Facts) bool {
		return func(f *Facts) bool { return f.Request.Needs&a != 0 }
	}
	return []variable{
		{name: "request.model", kind: text(func(f *Facts) string { return f.Request.Model }), doc: "model as the caller wrote it"},
		{name: "request.auto", kind: flag(func(f *Facts) bool { return f.Request.Auto }), doc: "the caller leaves the model to the router"},
		{name: "request.op", kind: choice(ops(), func(f *Facts) string { return string(f.Request.Op) }), doc: "what is asked for", values: ops()},
		{name: "request.format", kind: choice([]string{"chat", "responses", "messages"}, func(f *Facts) string { return f.Request.Format }), doc: "wire format the caller speaks", values: []string{"chat", "responses", "messages"}},
		{name: "request.source", kind: choice([]string{"key", "playground"}, func(f *Facts) string { return f.Request.Source }), doc: "how the request came in", values: []string{"key", "playground"}},
		{name: "request.task", kind: choice(tasks(), func(f *Facts) string { return string(f.Request.Task) }), doc: "kind of work, estimated from the prompt", values: tasks()},
		{name: "request.language", kind: text(func(f *Facts) string { return f.Request.Language }), doc: "language of the prompt as two letters, such as de; empty when the text does not tell"},
		{name: "request.tokens", kind: number(func(f *Facts) int64 { return f.Request.Tokens }), doc: "input tokens, about"},
		{name: "request.max_output", kind: number(func(f *Facts) int64 { return f.Request.MaxOutput }), doc: "output tokens the caller allows; 0 when it sets no limit"},
		{name: "request.messages", kind: number(func(f *Facts) int64 { return int64(f.Request.Messages) }), doc: "messages in the conversation"},
		{name: "request.images", kind: number(func(f *Facts) int64 { return int64(f.Request.Images) }), doc: "pictures in the conversation"},
		{name: "request.choices", kind: number(func(f *Facts) int64 { return int64(f.Request.Choices) }), doc: "answers asked for (n)"},
		{name: "request.stream", kind: flag(func(f *Facts) bool { return f.Request.Stream }), doc: "the answer is streamed"},
		{name: "request.tools", kind: flag(needs(llm.Tools | llm.ParallelTools)), doc: "tools are offered to the model"},
		{name: "request.vision", kind: flag(needs(llm.Vision)), doc: "there are pictures to look at"},
		{name: "request.audio", kind: flag(needs(llm.AudioIn | llm.AudioOut)), doc: "sound goes in or is wanted back"},
		{name: "request.files", kind: flag(needs(llm.Files)), doc: "files are attached"},
		{name: "request.json", kind: flag(needs(llm.JSONMode | llm.JSONSchema)), doc: "the answer must be JSON"},
		{name: "request.reasoning", kind: flag(needs(llm.Reasoning)), doc: "the caller asks for reasoning"},
		{name: "request.objective", kind: choice(append(objectives(), "auto", "number"), func(f *Facts) string { return f.Request.Objective }), doc: "what the caller wants auto to aim for; number when it gave one", values: append(objectives(), "auto", "number")},
		{name: "request.end_user", kind: text(func(f *Facts) string { return f.Request.EndUser }), doc: "the caller's own name of its user (user, safety_identifier)"},
		{name: "request.session", kind: text(func(f *Facts) string { return f.Request.Session }), doc: "session that the caller names; empty without one"},
		{name: "request.metadata", kind: texts(func(f *Facts) map[string]string { return f.Request.Metadata }), doc: "the metadata field of the request; an entry that is not there is empty"},
		{name: "request.tags", kind: texts(func(f *Facts) map[string]string { return f.Request.Tags }), doc: "tags of the key with those that the caller adds (X-Fairlead-Tags); a tag that is not there is empty"},
	}
}

func ops() []string {
	return []string{string(llm.Chat), string(llm.Embed), string(llm.Complete), string(llm.Moderate), string(llm.Count)}
}

func tasks() []string {
	var names []string
	for _, t := range []predict.Task{
		predict.Chat, predict.Code, predict.Maths, predict.Reasoning, predict.Knowledge,
		predict.Translation, predict.Extraction, predict.ToolUse, predict.Vision, predict.LongContext,
	} {
		names = append(names, string(t))
	}
	return names
}

func objectives() []string { return []string{"cost", "quality", "speed"} }

func weekdays() []string {
	var names []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		names = append(names, strings.ToLower(d.String()))
	}
	return names
}

func hourIn(t time.Time) int64     { return int64(t.Hour()) }
func weekdayIn(t time.Time) string { return strings.ToLower(t.Weekday().String()) }
func dateIn(t time.Time) string    { return t.Format(time.DateOnly) }

// typeName says in words what values of a type are.
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
		return "texts by name"
	default:
		return t.String()
	}
}
