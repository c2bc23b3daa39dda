package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// devEmail is the email address of the account that `serve --dev` signs in.
const devEmail = "dev@localhost"

// openDev creates the developer account and signs it in. Its password is random, changes at each start and is never shown.
func (a *App) openDev(ctx context.Context) error {
	if at, err := netip.ParseAddrPort(a.listener.Addr().String()); err != nil || !at.Addr().Unmap().IsLoopback() {
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
		dev, err := a.accounts.AccountByEmail(ctx, devEmail)
		if err != nil {
			return fmt.Errorf("reset the developer account: %w", err)
		}
		// The account signs in automatically, so it must not require the code of a second factor.
		if err := a.factors.Reset(ctx, dev.ID); err != nil && !errors.Is(err, account.ErrNotFound) {
			return fmt.Errorf("reset the developer account: %w", err)
		}
	}
	_, token, err := a.accounts.Login(ctx, devEmail, password, account.Visitor{Client: "serve --dev"})
	if err != nil {
		return fmt.Errorf("sign in to the developer account: %w", err)
	}
	a.edge.devToken = token
	return nil
}

// devOnly rejects requests that do not come directly from a client on this machine. Development mode signs in every visitor, so
// it must not be reachable through a proxy or through a host name that resolves to loopback.
func (h edge) devOnly(next http.Handler) http.Handler {
	if h.devToken == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !direct(r) {
			h.reject(w, r, llm.Errorf(llm.PermissionDenied, "The gateway runs in development mode and accepts only direct requests to localhost. Start it without --dev to use it through a proxy or another host name."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// direct reports whether the peer address and the Host header are loopback and no proxy header is present. A proxy header
// counts as present even if its first value is empty, because the client may have sent that value and the proxy the second one.
func direct(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host := strings.ToLower((&url.URL{Host: r.Host}).Hostname())
	if addr, err := netip.ParseAddr(host); err == nil {
		if !addr.Unmap().IsLoopback() {
			return false
		}
	} else if host != "localhost" && !strings.HasSuffix(host, ".localhost") {
		return false
	}
	for name := range r.Header {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Original-Host", "X-Envoy-External-Address", "True-Client-Ip", "Cf-Connecting-Ip":
			return false
		}
		if strings.HasPrefix(name, "X-Forwarded") {
			return false
		}
	}
	return true
}

// signIn sets the developer's session cookie if a page is opened without one.
func (h edge) signIn(w http.ResponseWriter, r *http.Request) {
	if h.devToken == "" {
		return
	}
	if _, err := r.Cookie(adminapi.SessionCookie); err == nil {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: adminapi.SessionCookie, Value: h.devToken, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
