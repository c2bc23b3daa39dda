package replay

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// largest keeps the changes with the greatest absolute weight. maximum limits their number.
type largest struct {
	maximum int
	heap    changes
}

type weighted struct {
	weight float64 // difference in cost or predicted quality; negative for a decrease
	Change
}

// changes implements heap.Interface with the smallest change first.
type changes []weighted

func (c changes) Len() int           { return len(c) }
func (c changes) Less(i, j int) bool { return order(&c[i], &c[j]) > 0 }
func (c changes) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *changes) Push(x any)        { *c = append(*c, x.(weighted)) }
func (c *changes) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// order sorts changes by weight, greatest first, and then by request, newest first.
func order(a, b *weighted) int {
	return cmp.Or(cmp.Compare(math.Abs(b.weight), math.Abs(a.weight)), cmp.Compare(b.RequestID, a.RequestID))
}

func (l *largest) add(weight float64, c *Change) {
	if weight == 0 || l.maximum == 0 {
		return
	}
	one := weighted{weight, *c}
	if len(l.heap) < l.maximum {
		heap.Push(&l.heap, one)
		return
	}
	if order(&one, &l.heap[0]) < 0 {
		l.heap[0] = one
		heap.Fix(&l.heap, 0)
	}
}

// list returns the changes, greatest first.
func (l *largest) list() []Change {
	sorted := slices.Clone(l.heap)
	slices.SortFunc(sorted, func(a, b weighted) int { return order(&a, &b) })
	list := make([]Change, len(sorted))
	for i := range sorted {
		list[i] = sorted[i].Change
	}
	return list
}
