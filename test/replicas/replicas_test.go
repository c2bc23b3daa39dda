package replicas

import (
	"os"
	"testing"

	"fairlead/internal/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Each promise in its fast form, one after the other: they share the machine's two cores.
func TestReplicas(t *testing.T) { //nolint:paralleltest // they measure
	full := os.Getenv("FAIRLEAD_TEST_FULL") == "true"
	for _, c := range []struct {
		name string
		run  func(*testing.T, bool) string
	}{
		{"budget", Budget},
		{"budget without redis", BudgetWithoutRedis},
		{"rate", Rate},
		{"redis killed", RedisKilled},
		{"redis slow", RedisSlow},
		{"revocation", Revocation},
	} {
		t.Run(c.name, func(t *testing.T) { t.Log(c.run(t, full)) })
	}
}
