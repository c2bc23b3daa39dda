package llm

import "testing"

func TestReplaceKeepsOtherMembers(t *testing.T) {
	t.Parallel()
	body := `{ "a" : 1, "b":[ 2 ] ,"c":null}`
	req := &Request{Payload: Payload{Body: []byte(body), Fields: []Field{
		{Name: "a", KeyStart: 2, Value: 8, End: 9}, {Name: "b", KeyStart: 11, Value: 15, End: 20}, {Name: "c", KeyStart: 22, Value: 26, End: 30},
	}}}
	for name, c := range map[string]struct {
		with map[string]string
		want string
	}{
		"nothing":   {nil, body},
		"the first": {map[string]string{"a": `"long"`}, `{ "a" : "long", "b":[ 2 ] ,"c":null}`},
		"the last":  {map[string]string{"c": `3`}, `{ "a" : 1, "b":[ 2 ] ,"c":3}`},
		"all":       {map[string]string{"a": `0`, "b": `[]`, "c": `{}`}, `{ "a" : 0, "b":[] ,"c":{}}`},
		"missing":   {map[string]string{"d": `0`}, body},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := req.Replace(func(name string, _ []byte) []byte {
				if value, ok := c.with[name]; ok {
					return []byte(value)
				}
				return nil
			})
			if string(got) != c.want || string(req.Body) != body {
				t.Errorf("%s became %s, want %s", req.Body, got, c.want)
			}
		})
	}
}
