package responsesconv

import "strings"

// joinSignature keeps the id of a reasoning item with its encrypted content: the provider expects both.
func joinSignature(id, encrypted string) string { return id + ":" + encrypted }

// splitSignature is the inverse of joinSignature.
func splitSignature(signature string) (id, encrypted string) {
	id, encrypted, _ = strings.Cut(signature, ":")
	return id, encrypted
}
