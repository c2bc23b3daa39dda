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
	return s.devices.token(a, secret.Random(secret.Base62, deviceIDLength))
}

// devices computes and checks device tokens. A token has an ID, a signature for the account with its password, and a signature for the
// email address, which can be checked without the database.
type devices struct{ hash secret.KeyedHash }

func (d devices) token(a Account, id string) string {
	return id + "." + hex.EncodeToString(d.hash.Bytes(id+"\n"+a.ID+"\n"+a.PasswordHash)) + "." + d.emailMAC(a.Email, id)
}

func (d devices) emailMAC(email, id string) string {
	return hex.EncodeToString(d.hash.Bytes("email\n" + id + "\n" + email))
}

// issued reports whether the token was issued for the account with its current password.
func (d devices) issued(a Account, token string) bool {
	id, _, _ := strings.Cut(token, ".")
	return a.ID != "" && len(id) == deviceIDLength && subtle.ConstantTimeCompare([]byte(token), []byte(d.token(a, id))) == 1
}

// knows reports whether the token was issued for an account with the email address.
func (d devices) knows(email, token string) bool {
	id, _, _ := strings.Cut(token, ".")
	mac := token[strings.LastIndexByte(token, '.')+1:]
	return len(id) == deviceIDLength && subtle.ConstantTimeCompare([]byte(mac), []byte(d.emailMAC(email, id))) == 1
}
