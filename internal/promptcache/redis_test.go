package promptcache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// redisVariable names the environment variable with the address of a server that tests may write to.
const redisVariable = "FAIRLEAD_TEST_REDIS"

var errNoRedis = errors.New("no Redis or Valkey server is installed and " + redisVariable + " is not set; run scripts/setup-test.sh")

// startRedis starts one server per test process, on first use.
var startRedis = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(redisVariable); address != "" {
		return address, nil
	}
	server, err := exec.LookPath("redis-server")
	if err != nil {
		if server, err = exec.LookPath("valkey-server"); err != nil {
			return "", errNoRedis
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	command := exec.Command(server, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no")
	endWithParent(command)
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", server, err)
	}
	redisProcess = command
	address := fmt.Sprintf("redis://127.0.0.1:%d/0", port)
	for range 200 {
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second); err == nil {
			_ = c.Close()
			return address, nil
		}
		time.Sleep(25 * time.Millisecond) // wait for the server to start
	}
	return "", fmt.Errorf("%s did not start on port %d", server, port)
})

var redisProcess *exec.Cmd

// stopRedis stops the server that startRedis started.
func stopRedis() {
	if redisProcess != nil {
		_ = redisProcess.Process.Kill()
		_ = redisProcess.Wait()
	}
}

func realRedis(t *testing.T) *redis.Client {
	t.Helper()
	address, err := startRedis()
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestRedisItemsExpire(t *testing.T) {
	t.Parallel()
	client := realRedis(t)
	r, name := NewRedis(client), t.Name()+strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := r.Set(t.Context(), []Item{{Key: name + "a", Value: "1", Lifetime: time.Minute}, {Key: name + "b", Value: "2", Lifetime: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	got, err := r.Get(t.Context(), []string{name + "b", name + "none", name + "a"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2", "", "1"}, got); diff != "" {
		t.Error(diff)
	}
	if left := client.PTTL(t.Context(), name+"a").Val(); left <= 50*time.Second || left > time.Minute {
		t.Errorf("item with a lifetime of one minute expires in %v", left)
	}
}

func TestUnavailableRedisReturnsAnError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	_ = client.Close()
	r := NewRedis(client)
	if _, err := r.Get(t.Context(), []string{"a"}); err == nil {
		t.Error("Get without Redis returned no error")
	}
	if err := r.Set(t.Context(), []Item{{Key: "a", Value: "b", Lifetime: time.Second}}); err == nil {
		t.Error("Set without Redis returned no error")
	}
}

// Two replicas alternate in one conversation.
func TestReplicasShareLinksThroughRedis(t *testing.T) {
	t.Parallel()
	workspace := "ws_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	replicas := [2]*Shared{}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range replicas {
		replicas[i] = NewShared(NewMemory(1000), NewRedis(realRedis(t)))
		replicas[i].readTimeout = time.Minute // long, because this test does not check the timeout
		running.Go(func() { replicas[i].Run(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })

	alternate(t, workspace, replicas, func() { waitForQueue(t, replicas) })
}

// waitForQueue waits until everything recorded so far is published.
func waitForQueue(t *testing.T, replicas [2]*Shared) {
	t.Helper()
	for _, r := range replicas {
		probe := Item{Key: fmt.Sprintf("fairlead:prefix:probe:%p:%d", r, time.Now().UnixNano()), Value: "x", Lifetime: time.Minute}
		r.queue <- probe // published after all earlier items
		for {
			got, err := r.remote.Get(t.Context(), []string{probe.Key})
			if err != nil {
				t.Fatal(err)
			}
			if got[0] == "x" {
				break
			}
		}
	}
}
