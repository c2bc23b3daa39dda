package logstore

import "testing"

func TestClassKeepsOrder(t *testing.T) {
	t.Parallel()
	numbers := []int64{-1 << 63, -1 << 40, -5, -4, -1, 0, 1, 2, 3, 4, 5, 15, 16, 1 << 40, 1<<63 - 1}
	for i := range len(numbers) - 1 {
		if low, high := classOf(numbers[i]), classOf(numbers[i+1]); low > high || high > maxClass || low < -maxClass {
			t.Errorf("Class(%d) = %d, Class(%d) = %d; want ascending classes in range", numbers[i], low, numbers[i+1], high)
		}
	}
}
