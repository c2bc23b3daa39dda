package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimitIsReadFromTheControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want int64
	}{
		"a limit":           {"536870912\n", 512 << 20},
		"none":              {"max\n", 0},
		"none in cgroup v1": {"9223372036854771712\n", 0},
		"nonsense":          {"-5", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "memory.max")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := memoryLimit([]string{"/does/not/exist", file}); got != c.want {
				t.Errorf("limit %d, want %d", got, c.want)
			}
		})
	}
}
