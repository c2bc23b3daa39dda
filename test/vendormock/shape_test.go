package vendormock

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var vendors = []string{
	"anthropic", "anthropic-messages", "bedrock", "gemini", "gemini-generate", "openai", "openai-chat", "openai-responses",
}

// Every name that a shape uses must exist. A typo would otherwise be found only by a request that needs the name.
func TestShapesReferToExistingShapes(t *testing.T) {
	t.Parallel()
	for _, vendor := range vendors {
		list := LoadShapes(vendor)
		for name, shape := range list {
			for member, field := range shape.fields {
				for _, base := range bases(field.types) {
					if _, ok := list[base]; !ok {
						t.Errorf("%s: %s.%s has the type %s, which does not exist", vendor, name, member, base)
					}
				}
			}
		}
	}
}

// bases returns the names of the shapes that the types refer to.
func bases(types []typ) []string {
	var list []string
	for _, t := range types {
		switch t.base {
		case "[]", "{}":
			list = append(list, bases(t.elem)...)
		case "string", "filled", "int", "number", "bool", "object", "any", "blob", "=", "/":
		default:
			list = append(list, t.base)
		}
	}
	return list
}

func TestShapesFindEveryKindOfProblem(t *testing.T) {
	t.Parallel()
	list := LoadShapes("gemini")
	for body, want := range map[string][]Problem{
		`{"contents":[{"parts":[{"text":"a"}]}]}`:                       nil,
		`{"contents":{}}`:                                               {{"contents", WrongType, "list"}},
		`{"contents":[{"parts":[{"text":1}]}]}`:                         {{"contents.0.parts.0.text", WrongType, "string"}},
		`{"contents":[{"parts":[{"thought":true}]}]}`:                   {{"contents.0.parts.0", NotOne, "part"}},
		`{"a":1,"b":2}`:                                                 {{"", Unknown, "a"}, {"", Unknown, "b"}},
		`{"generationConfig":{"seed":1.5}}`:                             {{"generationConfig.seed", WrongType, "int"}},
		`{"generationConfig":{"responseSchema":{"type":"INT"}}}`:        {{"generationConfig.responseSchema.type", NotListed, "STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT, NULL, string, number, integer, boolean, array, object, null"}},
		`{"labels":{"a":1}}`:                                            {{"labels.a", WrongType, "string"}},
		`{"tools":[{"functionDeclarations":[{"parameters":{"x":1}}]}]}`: {{"tools.0.functionDeclarations.0.parameters", Unknown, "x"}},
	} {
		var document any
		if err := decode([]byte(body), &document); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, list.Check("request", document), cmp.AllowUnexported(Problem{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestCamelRenamesOnlyMembersOfShapes(t *testing.T) {
	t.Parallel()
	var document any
	body := `{"system_instruction":{"parts":[{"inline_data":{"mime_type":"a"}}]},"tools":[{"function_declarations":[{"parameters":{"properties":{"my_name":{"min_items":1}}}}]}],"contents":[{"parts":[{"function_call":{"args":{"my_arg":1}}}]}],"no_such":1}`
	if err := decode([]byte(body), &document); err != nil {
		t.Fatal(err)
	}
	want := `{"contents":[{"parts":[{"functionCall":{"args":{"my_arg":1}}}]}],"no_such":1,"systemInstruction":{"parts":[{"inlineData":{"mimeType":"a"}}]},"tools":[{"functionDeclarations":[{"parameters":{"properties":{"my_name":{"minItems":1}}}}]}]}`
	if diff := cmp.Diff(want, string(Encode(LoadShapes("gemini").Camel("request", document)))); diff != "" {
		t.Errorf("Camel (-want +got):\n%s", diff)
	}
}

// For any input, the check ends with a list of problems.
func FuzzShapes(f *testing.F) {
	f.Add("anthropic", `{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`)
	f.Add("openai", `{"messages":[{"role":"tool"}]}`)
	f.Add("bedrock", `{"messages":[{"role":"user","content":[{"text":null}]}]}`)
	f.Add("gemini", `[]`)
	known := map[string]Shapes{}
	for _, vendor := range vendors {
		known[vendor] = LoadShapes(vendor)
	}
	f.Fuzz(func(_ *testing.T, vendor, body string) {
		var document any
		if list, ok := known[vendor]; ok && decode([]byte(body), &document) == nil {
			list.Check("request", list.Camel("request", DropNulls(document)))
		}
	})
}
