package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// object is a rendered document of the chart.
type object map[string]any

// at follows a path of fields through a document. A number in the path is the index in a list. It returns nil for a missing field.
func (o object) at(path ...any) any {
	var here any = map[string]any(o)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, _ := here.(map[string]any)
			here = fields[step]
		case int:
			list, _ := here.([]any)
			if step >= len(list) {
				return nil
			}
			here = list[step]
		}
	}
	return here
}

// want compares the printed form of a field, so that YAML numbers and strings compare equal.
func (o object) want(t *testing.T, want string, path ...any) {
	t.Helper()
	if got := fmt.Sprint(o.at(path...)); got != want {
		t.Errorf("%v %v is %s, want %s", o.at("kind"), path, got, want)
	}
}

// helm runs the pinned version of Helm, which `make deploy-check` installs.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	tool := filepath.Join(root(t), "bin", "tools", "helm")
	if _, err := os.Stat(tool); err != nil {
		t.Fatal("helm is not installed; make deploy-check installs it")
	}
	cmd := exec.CommandContext(t.Context(), tool, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w\n%s%s", err, out.String(), wrong.String())
	}
	return out.String(), nil
}

func chart(t *testing.T) string {
	t.Helper()
	return filepath.Join(root(t), "deploy", "helm", "fairlead")
}

// render renders the chart with values such as "replicaCount=2".
func render(t *testing.T, values ...string) ([]object, error) {
	t.Helper()
	args := []string{"template", "prod", chart(t), "--kube-version", "1.31.0"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	text, err := helm(t, args...)
	if err != nil {
		return nil, err
	}
	var list []object
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			t.Fatalf("decode the rendered chart: %v\n%s", err, text)
		}
		if len(o) > 0 {
			list = append(list, o)
		}
	}
}

func rendered(t *testing.T, values ...string) []object {
	t.Helper()
	list, err := render(t, append([]string{"secret.name=gateway"}, values...)...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func kinds(list []object) []string {
	var names []string
	for _, o := range list {
		names = append(names, fmt.Sprint(o.at("kind")))
	}
	slices.Sort(names)
	return names
}

func find(t *testing.T, list []object, kind string) object {
	t.Helper()
	i := slices.IndexFunc(list, func(o object) bool { return o["kind"] == kind })
	if i < 0 {
		t.Fatalf("the chart renders %v, want a %s", kinds(list), kind)
	}
	return list[i]
}

func TestChartPassesLint(t *testing.T) {
	t.Parallel()
	if out, err := helm(t, "lint", "--strict", chart(t), "--set", "secret.name=gateway"); err != nil {
		t.Errorf("helm lint: %v\n%s", err, out)
	}
}

func TestChartRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for values, why := range map[string]string{
		"replicaCount=3":                       "secret.name is not set",
		"secret.name=x,secret.keys.redis=":     "several replicas need a Redis",
		"secret.name=x,drain.graceSeconds=30":  "drain",
		"secret.name=x,drain.waitSeconds=30":   "at least drain.waitSeconds",
		"secret.name=x,image.tag=latest":       "tag",
		"secret.name=x,config.store=sqlite":    "config",
		"secret.name=x,ingress.enabled=true":   "host",
		"secret.name=x,replicas=3":             "replicas",
		"secret.name=x,image.digest=sha256:ab": "digest",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("render with %s: got error %v, want %q", values, err, why)
		}
	}
}

func TestChartDefaults(t *testing.T) {
	t.Parallel()
	list := rendered(t)
	want := []string{"ConfigMap", "PodDisruptionBudget", "Service", "Service", "ServiceAccount", "StatefulSet"}
	if got := kinds(list); !slices.Equal(want, got) {
		t.Errorf("rendered %v, want %v", got, want)
	}
	for _, o := range list {
		if o["kind"] == "Secret" {
			t.Error("the chart renders a Secret, want none")
		}
	}
	set := find(t, list, "StatefulSet")
	set.want(t, "3", "spec", "replicas")
	set.want(t, "RollingUpdate", "spec", "updateStrategy", "type")
	set.want(t, "Retain", "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")
	set.want(t, "data", "spec", "volumeClaimTemplates", 0, "metadata", "name")
	find(t, list, "PodDisruptionBudget").want(t, "1", "spec", "maxUnavailable")
}

func TestChartRunsTheBinaryUnprivileged(t *testing.T) {
	t.Parallel()
	set := find(t, rendered(t), "StatefulSet")
	pod := []any{"spec", "template", "spec"}
	container := append(slices.Clone(pod), "containers", 0)
	for field, want := range map[string]string{
		"terminationGracePeriodSeconds": "60", "automountServiceAccountToken": "false", "enableServiceLinks": "false",
	} {
		set.want(t, want, append(slices.Clone(pod), field)...)
	}
	for field, want := range map[string]string{"runAsNonRoot": "true", "runAsUser": "65532", "seccompProfile": "map[type:RuntimeDefault]"} {
		set.want(t, want, append(slices.Clone(pod), "securityContext", field)...)
	}
	for field, want := range map[string]string{
		"allowPrivilegeEscalation": "false", "readOnlyRootFilesystem": "true", "capabilities": "map[drop:[ALL]]",
	} {
		set.want(t, want, append(slices.Clone(container), "securityContext", field)...)
	}
	for probe, path := range map[string]string{"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		set.want(t, path, append(slices.Clone(container), probe, "httpGet", "path")...)
	}
	set.want(t, "5", append(slices.Clone(container), "lifecycle", "preStop", "sleep", "seconds")...)
	set.want(t, "/var/lib/fairlead", append(slices.Clone(container), "volumeMounts", 0, "mountPath")...)
	wantPinned(t, fmt.Sprint(set.at(append(slices.Clone(container), "image")...)))
}

// The gateway accepts the configuration file that the chart renders. The file names the secrets at the paths where the pod mounts
// them.
func TestChartRendersAValidConfiguration(t *testing.T) {
	t.Parallel()
	list := rendered(t, "publicURL=https://models.example.com", "config.log.bodies=false", "metrics.port=9100")
	file := fmt.Sprint(find(t, list, "ConfigMap").at("data", "fairlead.yaml"))
	set := find(t, list, "StatefulSet")
	set.want(t, "gateway", "spec", "template", "spec", "volumes", 1, "secret", "secretName")
	set.want(t, "/run/secrets/fairlead", "spec", "template", "spec", "containers", 0, "volumeMounts", 2, "mountPath")
	loaded := loadConfig(t, file, map[string]string{
		"/run/secrets/fairlead/master-key": strings.Repeat("k", 32),
		"/run/secrets/fairlead/store-url":  "postgres://fairlead:canary@postgres/fairlead",
		"/run/secrets/fairlead/redis-url":  "redis://:canary@redis:6379/0",
	})
	c := loaded.Config
	if c.Log.Bodies || !c.TrustProxy || c.PublicURL != "https://models.example.com" || c.AdminListen != "0.0.0.0:9100" || c.DataDir != "/var/lib/fairlead" {
		t.Errorf("Log.Bodies = %v, TrustProxy = %v, PublicURL = %q, AdminListen = %q, DataDir = %q; want the values of the chart",
			c.Log.Bodies, c.TrustProxy, c.PublicURL, c.AdminListen, c.DataDir)
	}
}

func TestChartWithAllOptions(t *testing.T) {
	t.Parallel()
	list := rendered(t, "autoscaling.enabled=true", "ingress.enabled=true", "ingress.host=models.example.com", "ingress.tlsSecret=tls",
		"networkPolicy.enabled=true", "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus", "metrics.serviceMonitor.enabled=true",
		"restartOnConfigChange=true", "providerSecrets[0]=providers", "image.digest=sha256:"+strings.Repeat("a", 64))
	want := []string{
		"ConfigMap", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "ServiceAccount", "ServiceMonitor",
		"StatefulSet",
	}
	if got := kinds(list); !slices.Equal(want, got) {
		t.Errorf("rendered %v, want %v", got, want)
	}
	set := find(t, list, "StatefulSet")
	set.want(t, "<nil>", "spec", "replicas") // the autoscaler sets the number of replicas
	set.want(t, "providers", "spec", "template", "spec", "containers", 0, "envFrom", 0, "secretRef", "name")
	if sum := fmt.Sprint(set.at("spec", "template", "metadata", "annotations", "checksum/config")); len(sum) != 64 {
		t.Errorf("checksum/config = %q, want 64 hexadecimal digits, so that a changed file restarts the pods", sum)
	}
	find(t, list, "HorizontalPodAutoscaler").want(t, "StatefulSet", "spec", "scaleTargetRef", "kind")
	find(t, list, "Ingress").want(t, "models.example.com", "spec", "rules", 0, "host")
	find(t, list, "NetworkPolicy").want(t, "metrics", "spec", "ingress", 1, "ports", 0, "port")
	monitor := find(t, list, "ServiceMonitor")
	monitor.want(t, "metrics", "spec", "selector", "matchLabels", "app.kubernetes.io/component")
}

// The selectors of the services match the pods. Only the internal service exposes the metrics.
func TestChartServicesSelectThePods(t *testing.T) {
	t.Parallel()
	list := rendered(t)
	labels, _ := find(t, list, "StatefulSet").at("spec", "template", "metadata", "labels").(map[string]any)
	for _, o := range list {
		if o["kind"] != "Service" {
			continue
		}
		selector, _ := o.at("spec", "selector").(map[string]any)
		if len(selector) == 0 {
			t.Errorf("the service %v has no selector", o.at("metadata", "name"))
		}
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("the service %v selects %s=%v, but the pods have %v", o.at("metadata", "name"), name, value, labels[name])
			}
		}
		internal, port := o.at("spec", "clusterIP") == "None", o.at("spec", "ports", 0, "targetPort")
		if internal != (port == "metrics") {
			t.Errorf("the service %v (internal: %v) has the target port %v; only the internal service may expose metrics",
				o.at("metadata", "name"), internal, port)
		}
	}
}
