package account

import (
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"fairlead.dev/internal/account/secret"
)

// deviceIDLength is the length of a device ID in characters: about 95 random bits.
const deviceIDLength = 16

// DeviceToken returns a token that identifies a browser of the account after a sign-in. It returns the presented token if that
// token is valid, and otherwise a new token. The token is not a credential. The attempt limit uses it to count the browser's
// wrong passwords separately from other clients. It is not stored, and a password change invalidates it.
func (s *Service) DeviceToken(a Account, presented string) string {
	if s.devices.issued(a, presented) {
		return presented
	}
	id := secret.Random(secret.Base62, deviceIDLength)
	return id + "." + s.devices.mac(a, id)
}

// devices computes and checks device tokens.
type devices struct{ hash secret.KeyedHash }

// issued reports whether the token was issued for the account with its current password.
func (d devices) issued(a Account, token string) bool {
	id, mac, _ := strings.Cut(token, ".")
	same := subtle.ConstantTimeCompare([]byte(mac), []byte(d.mac(a, id))) == 1
	return same && len(id) == deviceIDLength && a.ID != ""
}

func (d devices) mac(a Account, id string) string {
	return hex.EncodeToString(d.hash.Bytes(id + "\n" + a.ID + "\n" + a.PasswordHash))
}
