package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"fairlead/internal/account"
	"fairlead/internal/admin"
	"fairlead/internal/llm"
)

// devEmail is the account that `serve --dev` signs in.
const devEmail = "dev@localhost"

// openDev makes the account for trying out and signs it in. Its password is new with each start and told to nobody.
func (a *App) openDev(ctx context.Context) error {
	if !isLoopback(a.listener.Addr()) {
		return fmt.Errorf("--dev signs everybody in who can reach the address, so it listens on loopback only, not on %s", a.listener.Addr())
	}
	password := rand.Text()
	if _, err := a.accounts.CreateAccount(ctx, devEmail, password, "Developer"); err != nil {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Conflict {
			return fmt.Errorf("make the developer's account: %w", err)
		}
		if err := a.accounts.ResetPassword(ctx, devEmail, password); err != nil {
			return fmt.Errorf("open the developer's account: %w", err)
		}
	}
	_, token, err := a.accounts.Login(ctx, devEmail, password, account.Visitor{Client: "serve --dev", Loopback: true})
	if err != nil {
		return fmt.Errorf("sign the developer in: %w", err)
	}
	a.devToken = token
	return nil
}

// signIn gives a page that is opened without a session the developer's.
func (a *App) signIn(w http.ResponseWriter, r *http.Request) {
	if a.devToken == "" || !admin.AtTheMachine(r) {
		return
	}
	if _, err := r.Cookie(admin.SessionCookie); err == nil {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: admin.SessionCookie, Value: a.devToken, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
