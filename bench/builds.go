package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"fairlead.dev/bench/load"
)

// compareBuilds measures two builds of Fairlead alternately, with and without TLS between clients and gateway. Agent sessions run without
// TLS.
func (b *bench) compareBuilds(ctx context.Context, other string) error {
	builds := []string{b.binary, other}
	if len(b.only) == 0 {
		b.only = []string{"chat-1k", "chat-100k", "stream-200", "hold"}
	}
	if slices.Contains(b.only, "agent") {
		if err := b.compareAgents(ctx, builds); err != nil || len(b.workloads()) == 0 {
			return err
		}
	}
	got := results{}
	for _, tls := range []bool{false, true} {
		if err := b.measureBuilds(ctx, builds, tls, got); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "\nfigure\t%s\t%s\tratio\n", builds[0], builds[1])
	for _, scheme := range []string{"http", "https"} {
		for _, w := range b.workloads() {
			name, unit, value := "CPU of "+w.name, "µs", cpu
			if w.spec.Hold {
				name, unit, value = "memory per open stream", "KB", perStream
			}
			each := got[scheme+" "+w.name]
			first, second := median(each[builds[0]], value), median(each[builds[1]], value)
			fmt.Fprintf(t, "%s, %s\t%.1f %s\t%.1f %s\t%.2f\n", name, scheme, first, unit, second, unit, second/first)
		}
	}
	return t.Flush()
}

// measureBuilds runs every workload on both builds and alternates the order each round.
func (b *bench) measureBuilds(ctx context.Context, builds []string, tls bool, got results) error {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	for _, w := range b.workloads() {
		d := deployment{models: 2, policies: 1, tls: tls}
		if w.spec.Hold {
			d.concurrent = 2 * b.open
		}
		for range b.rounds {
			slices.Reverse(builds)
			for _, build := range builds {
				one, err := b.measureBuild(ctx, build, d, w.spec)
				if err != nil {
					return fmt.Errorf("%s over %s on %s: %w", w.name, scheme, build, err)
				}
				got.add(scheme+" "+w.name, build, one)
				value, unit := cpu(one), "µs CPU"
				if w.spec.Hold {
					value, unit = perStream(one), "KB each"
				}
				fmt.Fprintf(b.out, "%-6s %-11s %-30s %8.1f %s  failures %v\n", scheme, w.name, build, value, unit, one.Failures)
			}
		}
		if b.rounds%2 == 1 {
			slices.Reverse(builds)
		}
	}
	return nil
}

// measureBuild starts a build with its own upstream, runs one measurement, and stops both processes.
func (b *bench) measureBuild(ctx context.Context, build string, d deployment, spec load.Spec) (load.Result, error) {
	defer b.stopAll()
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return load.Result{}, err
	}
	b.binary = build
	gateway, err := b.startGateway(ctx, up.at.Address, d)
	if err != nil {
		return load.Result{}, err
	}
	time.Sleep(2 * time.Second) // wait until startup is complete
	return load.Run(ctx, gateway.at, spec)
}

// writeCertificate writes a self-signed certificate for the loopback address and its key.
func writeCertificate(dir string) (certFile, keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err != nil {
		return "", "", err
	}
	return certFile, keyFile, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}
