package vendormock

import (
	"encoding/base64"
	"fmt"
	"net/http"
)

// Picture decodes media sent as base64. The content must match the type.
func Picture(mediaType, data string) (Part, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return Part{}, fmt.Errorf("the data is not base64")
	}
	if detected := http.DetectContentType(raw); detected != mediaType && known(mediaType) {
		return Part{}, fmt.Errorf("the image was specified using the %s media type, but the image appears to be a %s image", mediaType, detected)
	}
	return Part{Kind: MediaPart, MediaType: mediaType, Size: len(raw)}, nil
}

// known reports whether a media type can be recognised by its first bytes.
func known(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return true
	}
	return false
}
