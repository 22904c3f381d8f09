/** Why a single sign-on was refused, by the `error` parameter of the sign-in page. */
export const SIGN_IN_ERRORS = {
  email_missing:
    'Your identity provider sent neither an email claim nor an email address as preferred_username. Ask its administrator to send the email claim.',
  email_verified_missing:
    'Your identity provider did not send the claim email_verified. If it verifies all addresses, an administrator of Tocsin can set OIDC_TRUST_EMAIL=true.',
  email_not_verified:
    'Your identity provider reports that your email address is not verified. Verify it there, then sign in again.',
  groups_missing:
    'This email address has no invitation, and your identity provider did not send the claim with your groups. An administrator of Tocsin can name that claim in OIDC_GROUPS_CLAIM, or request it with OIDC_SCOPES.',
  groups_overage:
    'This email address has no invitation, and you have more groups than your identity provider sends. Ask its administrator to send only groups that are assigned to Tocsin.',
  userinfo_failed:
    "Tocsin could not read your claims from your identity provider's userinfo endpoint. Try again. If this continues, ask an administrator of Tocsin to check the api log.",
  signup_disabled:
    'You are not a member of any account: this email address has no invitation, and none of your groups has access. Ask an owner of an account for an invitation.',
  unable_to_link_account:
    'This email address belongs to a user with another identity at the provider. Ask an owner of the account to remove that user and to invite you again.',
  account_not_linked:
    "This email address belongs to a user whose address is not verified. Sign in with that user's password.",
} as const;
export type SignInError = keyof typeof SIGN_IN_ERRORS;
