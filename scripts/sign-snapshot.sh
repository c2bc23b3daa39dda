#!/usr/bin/env bash
# Signs a snapshot in the way of the release workflow, but with a new key and a new certificate authority:
# sign-snapshot.sh FOLDER REPOSITORY VERSION. Reads checksums.txt and writes authority.pem and two Sigstore bundles.
set -euo pipefail
commit=$(git -C "$(dirname "$0")" rev-parse HEAD)
cd "$1"
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
issue() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -keyout "$keys/$1.key" -out "$keys/$1.pem" "${@:2}" 2>/dev/null; }
issue authority -subj /O=snapshot/CN=authority
issue signer -subj / -CA "$keys/authority.pem" -CAkey "$keys/authority.key" -addext basicConstraints=critical,CA:FALSE \
	-addext "subjectAltName=critical,URI:https://github.com/$2/.github/workflows/release.yml@refs/tags/v$3"
cp "$keys/authority.pem" authority.pem
certificate=$(openssl x509 -in "$keys/signer.pem" -outform DER | base64 -w0)
sign() { openssl dgst -sha256 -sign "$keys/signer.key" | base64 -w0; }
bundle() { # the arguments are those of jq and the member with the signature
	jq -n --arg certificate "$certificate" "${@:2}" '{
		mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", verificationMaterial: {certificate: {rawBytes: $certificate}}} + {'"$1"'}'
}
bundle 'messageSignature: {signature: $signature}' --arg signature "$(sign <checksums.txt)" >checksums.txt.sigstore.json

kind=application/vnd.in-toto+json
jq -nRc --arg repository "$2" --arg version "$3" --arg commit "$commit" '{
	_type: "https://in-toto.io/Statement/v1", predicateType: "https://slsa.dev/provenance/v1",
	subject: [inputs | split("  ") | {name: .[1], digest: {sha256: .[0]}}],
	predicate: {
		buildDefinition: {
			buildType: "https://actions.github.io/buildtypes/workflow/v1",
			externalParameters: {workflow: {ref: "refs/tags/v\($version)", repository: "https://github.com/\($repository)", path: ".github/workflows/release.yml"}},
			resolvedDependencies: [{uri: "git+https://github.com/\($repository)@refs/tags/v\($version)", digest: {gitCommit: $commit}}]},
		runDetails: {builder: {id: "snapshot"}}}}' checksums.txt | head -c -1 >"$keys/provenance.json"
signature=$({ printf 'DSSEv1 %d %s %d ' ${#kind} $kind "$(wc -c <"$keys/provenance.json")" && cat "$keys/provenance.json"; } | sign)
bundle 'dsseEnvelope: {payloadType: $kind, payload: $payload, signatures: [{sig: $signature}]}' --arg kind $kind \
	--arg payload "$(base64 -w0 "$keys/provenance.json")" --arg signature "$signature" >provenance.sigstore.json
