package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fairlead/internal/account"
	"fairlead/internal/admin/adminapi"
	"fairlead/internal/llm"
)

// devEmail is the email address of the account that `serve --dev` signs in.
const devEmail = "dev@localhost"

// openDev creates the developer account and signs it in. Its password is random, changes at each start and is never shown.
func (a *App) openDev(ctx context.Context) error {
	if !isLoopback(a.listener.Addr()) {
		return fmt.Errorf("--dev signs in every visitor and must listen on a loopback address, not on %s", a.listener.Addr())
	}
	password := rand.Text()
	if _, err := a.accounts.CreateAccount(ctx, devEmail, password, "Developer"); err != nil {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Conflict {
			return fmt.Errorf("create the developer account: %w", err)
		}
		if err := a.accounts.ResetPassword(ctx, devEmail, password); err != nil {
			return fmt.Errorf("reset the developer account: %w", err)
		}
		if err := a.resetDevFactor(ctx); err != nil {
			return fmt.Errorf("reset the developer account: %w", err)
		}
	}
	_, token, err := a.accounts.Login(ctx, devEmail, password, account.Visitor{Client: "serve --dev"})
	if err != nil {
		return fmt.Errorf("sign in to the developer account: %w", err)
	}
	a.devToken = token
	return nil
}

// resetDevFactor removes the second factor of the developer account, which signs in without a user.
func (a *App) resetDevFactor(ctx context.Context) error {
	dev, err := a.accounts.AccountByEmail(ctx, devEmail)
	if err != nil {
		return err
	}
	if err := a.factors.Reset(ctx, dev.ID); !errors.Is(err, account.ErrNotFound) {
		return err
	}
	return nil
}

// devOnly rejects requests that do not come directly from a client on this machine. Development mode signs in every visitor, so
// it must not be reachable through a proxy or through a host name that resolves to loopback.
func (a *App) devOnly(next http.Handler) http.Handler {
	if a.devToken == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !direct(r) {
			a.reject(w, r, llm.Errorf(llm.PermissionDenied, "The gateway runs in development mode and accepts only direct requests to localhost. Start it without --dev to use it through a proxy or another host name."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// direct reports whether the peer address and the Host header are loopback and no proxy header is present. An empty proxy header
// counts as present, because a client may send one to make the proxy's own header the second value.
func direct(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() || !loopbackHost(r.Host) {
		return false
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(proxyHeaders, name) {
			return false
		}
	}
	return true
}

// proxyHeaders are headers that proxies add, in addition to X-Forwarded-*.
var proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Original-Host", "X-Envoy-External-Address", "True-Client-Ip", "Cf-Connecting-Ip"}

// loopbackHost reports whether a Host header names this machine.
func loopbackHost(host string) bool {
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// signIn sets the developer's session cookie if a page is opened without one.
func (a *App) signIn(w http.ResponseWriter, r *http.Request) {
	if a.devToken == "" {
		return
	}
	if _, err := r.Cookie(adminapi.SessionCookie); err == nil {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: adminapi.SessionCookie, Value: a.devToken, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
