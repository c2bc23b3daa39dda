package ability

import "math"

// square is a symmetric matrix in row-major order; only the lower half is used.
type square struct {
	n int
	v []float64
}

func newSquare(n int) square { return square{n, make([]float64, n*n)} }

func (m square) at(i, j int) float64 { return m.v[i*m.n+j] }

// addOuter adds w·x·xᵀ to the lower half.
func (m square) addOuter(x []float64, w float64) {
	for i, xi := range x {
		row, xs := m.v[i*m.n:i*m.n+i+1], x[:i+1]
		s := w * xi
		for j := range row {
			row[j] += s * xs[j]
		}
	}
}

// mirror copies the lower half of the matrix to the upper half.
func (m square) mirror() square {
	for i := range m.n {
		for j := range i {
			m.v[j*m.n+i] = m.at(i, j)
		}
	}
	return m
}

// factor returns the Cholesky factor of a positive definite matrix. If the matrix is slightly indefinite, which is common for estimated
// covariances, factor increases the diagonal.
func (m square) factor() triangle {
	help := 0.0
	for range 80 {
		if l, ok := m.tryFactor(help); ok {
			return l
		}
		help = max(2*help, 1e-9)
	}
	unit := newSquare(m.n) // return the identity if the matrix contains NaN or infinite values
	for i := range m.n {
		unit.v[i*m.n+i] = 1
	}
	return triangle{unit}
}

func (m square) tryFactor(help float64) (triangle, bool) {
	l := newSquare(m.n)
	for i := range m.n {
		for j := range i + 1 {
			sum := m.at(i, j)
			if i == j {
				sum += help
			}
			for k := range j {
				sum -= l.at(i, k) * l.at(j, k)
			}
			if i != j {
				l.v[i*m.n+j] = sum / l.at(j, j)
				continue
			}
			if !(sum > 1e-12) {
				return triangle{}, false
			}
			l.v[i*m.n+i] = math.Sqrt(sum)
		}
	}
	return triangle{l}, true
}

// triangle is a Cholesky factor: a lower triangular matrix L with L·Lᵀ = M.
type triangle struct{ square }

// solve returns x with M·x = b, where l is the factor of M.
func (l triangle) solve(b []float64) []float64 {
	x := l.solveLower(b)
	for i := l.n - 1; i >= 0; i-- {
		for k := i + 1; k < l.n; k++ {
			x[i] -= l.at(k, i) * x[k]
		}
		x[i] /= l.at(i, i)
	}
	return x
}

// solveLower solves L·x = b. The squared length of x is b·M⁻¹·b.
func (l triangle) solveLower(b []float64) []float64 {
	x := make([]float64, l.n)
	for i := range l.n {
		sum := b[i]
		for k := range i {
			sum -= l.at(i, k) * x[k]
		}
		x[i] = sum / l.at(i, i)
	}
	return x
}

// inverse returns the full inverse of the matrix with factor l.
func (l triangle) inverse() square {
	inv := newSquare(l.n)
	unit := make([]float64, l.n)
	for i := range l.n {
		clear(unit)
		unit[i] = 1
		copy(inv.v[i*l.n:], l.solve(unit))
	}
	return inv
}

// times returns M·x for a matrix with both halves filled.
func (m square) times(x []float64) []float64 {
	y := make([]float64, m.n)
	for i := range m.n {
		for j, xj := range x {
			y[i] += m.at(i, j) * xj
		}
	}
	return y
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logit returns the logit of p, limited to the range that benchmarks can measure.
func logit(p float64) float64 {
	p = min(max(p, 0.005), 0.995)
	return math.Log(p / (1 - p))
}
