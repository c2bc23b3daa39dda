package judge

import "github.com/santhosh-tekuri/jsonschema/v6"

// maxSchemaWork limits the work of one validation. References let a small schema visit a value exponentially often.
const maxSchemaWork = 200_000

// schemaWork counts the work of a validation.
type schemaWork struct{ done int }

// errSchemaWork is the panic that ends a validation with too much work. The validator has no other way to stop.
type errSchemaWork struct{}

// vocabulary returns a vocabulary that makes every subschema count its visits. The cost of a visit is the number of members and values of
// the subschema.
func (w *schemaWork) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:fairlead:work",
		Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
			cost := 1
			for _, value := range obj {
				cost++
				switch value := value.(type) {
				case []any:
					cost += len(value)
				case map[string]any:
					cost += len(value)
				}
			}
			return visit{w, cost}, nil
		},
	}
}

type visit struct {
	work *schemaWork
	cost int
}

// Validate implements jsonschema.SchemaExt.
func (v visit) Validate(*jsonschema.ValidatorContext, any) {
	if v.work.done += v.cost; v.work.done > maxSchemaWork {
		panic(errSchemaWork{})
	}
}

// validate reports whether a value matches the schema. It returns true if the validation takes too much work, so that the response does
// not fail the check.
func (w *schemaWork) validate(schema *jsonschema.Schema, value any) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, stopped := p.(errSchemaWork); !stopped {
				panic(p)
			}
			ok = true
		}
	}()
	w.done = 0
	return schema.Validate(value) == nil
}
