package bedrock

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"fairlead.dev/test/vendormock"
)

var credentials = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// checkSignature recomputes the signature of a request (Signature Version 4) and compares it.
func checkSignature(r *http.Request, body []byte, o vendormock.Options) *vendormock.Rejection {
	denied := func(kind, message string) *vendormock.Rejection {
		return &vendormock.Rejection{Status: http.StatusForbidden, Kind: kind, Message: message}
	}
	found := credentials.FindStringSubmatch(r.Header.Get("Authorization"))
	if found == nil {
		return denied("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	id, day, region, service, signed, signature := found[1], found[2], found[3], found[4], found[5], found[6]
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case id != o.AccessKey:
		return denied("UnrecognizedClientException", "The security token included in the request is invalid.")
	case region != o.Region || service != "bedrock":
		return denied("InvalidSignatureException", "Credential should be scoped to a valid region and to correct service: 'bedrock'.")
	case err != nil || at.Format("20060102") != day:
		return denied("IncompleteSignatureException", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP")
	case !slices.Contains(strings.Split(signed, ";"), "host") || !slices.Contains(strings.Split(signed, ";"), "x-amz-date"):
		return denied("InvalidSignatureException", "'Host' and 'X-Amz-Date' must be among the 'SignedHeaders' in the AWS Authorization.")
	case time.Since(at).Abs() > 5*time.Minute:
		return denied("InvalidSignatureException", "Signature expired: the date of the request is more than five minutes away.")
	}
	canonical := canonicalRequest(r, strings.Split(signed, ";"), body)
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), day + "/" + region + "/" + service + "/aws4_request", hash(canonical)}, "\n")
	key := []byte("AWS4" + o.Secret)
	for _, text := range []string{day, region, service, "aws4_request"} {
		key = hmacSHA256(key, text)
	}
	if hex.EncodeToString(hmacSHA256(key, toSign)) != signature {
		return denied("InvalidSignatureException", "The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	}
	return nil
}

// canonicalRequest returns the canonical form of the request that client and server sign. In this form, the received path is
// escaped again.
func canonicalRequest(r *http.Request, signed []string, body []byte) string {
	var segments []string
	for segment := range strings.SplitSeq(r.URL.EscapedPath(), "/") {
		segments = append(segments, strings.ReplaceAll(url.QueryEscape(segment), "+", "%20"))
	}
	var headers strings.Builder
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		if name == "content-length" {
			value = itoa(len(body))
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return strings.Join([]string{
		r.Method, strings.Join(segments, "/"), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"), headers.String(), strings.Join(signed, ";"), hash(string(body)),
	}, "\n")
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hmacSHA256(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
