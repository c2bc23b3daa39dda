package condition

import (
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/ref"
)

// scope is the input of an evaluation.
type scope struct {
	facts *Facts
	zones map[string]*time.Location
}

// activation provides the values of variables to conditions. It converts each value at most once per evaluation, because every
// CEL value is an allocation.
type activation struct {
	scope
	names  *names
	values []ref.Val
}

func newActivation(n *names) *activation {
	return &activation{names: n, values: make([]ref.Val, len(n.list))}
}

// reset sets the input of the next evaluation. An empty scope releases the facts of the last evaluation.
func (a *activation) reset(s scope) {
	a.scope = s
	clear(a.values)
}

// ResolveName returns the value of a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	slot, ok := a.names.slots[name]
	if !ok {
		return nil, false
	}
	if a.values[slot] == nil {
		a.values[slot] = a.names.list[slot].get(a.scope)
	}
	return a.values[slot], true
}

// Parent returns nil: conditions have no outer scope.
func (a *activation) Parent() cel.Activation { return nil }

// names is the table of variables and their indexes.
type names struct {
	list  []variable
	slots map[string]int
}

func newNames() *names {
	n := &names{list: variables(), slots: map[string]int{}}
	for i, v := range n.list {
		n.slots[v.name] = i
	}
	return n
}
