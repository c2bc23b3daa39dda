const reasons: Record<string, string> = {
  disabled: "Single sign-on is not configured on this gateway.",
  provider_unavailable: "The identity provider cannot be reached. Try again in a few seconds.",
  expired: "The sign-in took too long, or the browser does not accept cookies. Try again.",
  state_mismatch: "The response belongs to another sign-in. Start the sign-in in this tab again.",
  denied: "The identity provider denied the sign-in.",
  provider_error: "The identity provider returned an error. The operator can find it in the audit log.",
  code_rejected: "The identity provider rejected the sign-in code. Try again.",
  token_invalid: "The identity provider returned a token that is not valid for this gateway.",
  token_expired: "The identity provider returned an expired token. Check the clocks of both servers.",
  nonce_mismatch: "The token belongs to another sign-in. Try again.",
  email_missing: "The identity provider did not send an email address.",
  email_unverified: "Your email address is not verified at the identity provider.",
  domain_not_allowed: "The domain of your email address is not allowed on this gateway.",
  no_group: "None of your groups has access to this gateway. Ask its operator.",
  no_refresh_token:
    "The identity provider issued no refresh token, so the gateway cannot check your access later. The operator must enable refresh tokens for this gateway.",
  account_exists:
    "An account with your email address exists and is not linked to the identity provider. Ask the operator.",
};

/** The sentence for a refused sign-in through the identity provider. The text never comes from the URL. */
export function ssoReason(reason: string): string {
  return reasons[reason] ?? "The sign-in through the identity provider failed. Try again.";
}
