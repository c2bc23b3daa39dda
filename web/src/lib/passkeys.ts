import { api, must, type Schema } from "../api/client";

/** Creates a passkey on this device. Rejects with CancelledError if the user cancels. */
export async function createPasskey(password: string, name: string): Promise<Schema["NewPasskey"]> {
  const { options } = await must(api.POST("/account/passkeys", { body: { password } }));
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as PublicKeyCredentialCreationOptionsJSON,
  );
  const response = await ask(() => navigator.credentials.create({ publicKey }));
  return must(api.POST("/account/passkeys/finish", { body: { name, response } }));
}

/** Asks for a passkey of this gateway and returns its signed response. Rejects with CancelledError if the user cancels. */
export async function askForPasskey(): Promise<unknown> {
  const { options } = await must(api.POST("/session/passkey"));
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  );
  return ask(() => navigator.credentials.get({ publicKey }));
}

/** CancelledError means that the user closed the browser's dialog, or that it timed out. */
export class CancelledError extends Error {}

async function ask(call: () => Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = await call();
    return (credential as PublicKeyCredential).toJSON();
  } catch (error) {
    if (error instanceof DOMException) {
      throw new CancelledError(reasons[error.name] ?? "No passkey was used. Try again.");
    }
    throw error;
  }
}

// Browsers also report a cancelled dialog as NotAllowedError.
const reasons: Record<string, string> = {
  InvalidStateError: "This device already has a passkey for your account.",
  SecurityError: "The browser does not allow passkeys for this address.",
};
