export const en = {
  confirmation: {
    title: (list: string) => `Confirm your subscription to ${list}`,
    text: (sender: string, list: string, address: string) =>
      `Please confirm that ${sender} may send “${list}” to ${address}.`,
    /** On the page of the link. `what` is one of `tracking` below. */
    tracking: (sender: string, what: string) =>
      `On the page, you can also allow ${sender} to record ${what}. Your subscription does not depend on it.`,
    button: 'Confirm subscription',
    small:
      'This link expires in seven days. If you did not request this, you can ignore this email: without your confirmation, you will not be subscribed.',
  },
  tracking: {
    /** What is recorded: the object of the sentence below. */
    opens: 'when you open its emails',
    clicks: 'when you click links in its emails',
    opensAndClicks: 'when you open its emails and click links in them',
    title: (sender: string) => `Confirm what ${sender} may record`,
    text: (sender: string, what: string) => `Please confirm that ${sender} may record ${what}.`,
    button: 'Confirm',
    small:
      'This link expires in seven days. If you did not request this, you can ignore this email: nothing will change.',
  },
  personalData: {
    title: (sender: string) => `Your data at ${sender}`,
    attached: (sender: string) =>
      `The attached file has everything that ${sender} keeps about you in its contact database. It is a JSON file, which you can open with any text editor.`,
    tooLarge: (sender: string) =>
      `What ${sender} keeps about you in its contact database is too large for an email. Please contact ${sender} to receive it in another way.`,
    small:
      'You are receiving this email because it was requested on your preferences page. It was sent to your address only.',
  },
  invite: {
    title: (workspace: string) => `Join ${workspace}`,
    text: (workspace: string) => `You have been invited to join the workspace “${workspace}”.`,
    button: 'Accept the invite',
    small:
      'This link expires in seven days and works once. If you did not expect this invite, you can ignore this email.',
  },
  passwordReset: {
    title: 'Choose a new password',
    text: (address: string) => `We received a request to reset the password of ${address}.`,
    /** Of an account whose address was never verified. */
    warning:
      'This address was never verified, so someone else may have created the account. For your security, choosing a new password also revokes the API keys and invites that the account created, disables the webhooks of the workspaces it owns, and deletes their mail hooks. Please review the members of these workspaces afterwards.',
    button: 'Choose a new password',
    small:
      'This link expires in one hour and works once. If you did not request it, you can ignore this email: your password stays the same.',
  },
  verification: {
    title: 'Verify your email address',
    text: (host: string, address: string) => `An account at ${host} was created for ${address}.`,
    request: 'Please verify that this email address is yours.',
    button: 'Verify email address',
    small:
      'This link expires in seven days. You need your password to use it. If you did not create this account, you can ignore this email, or reset the password to take the account over.',
  },
  /** Of a campaign without an unsubscribe link. */
  footer: {
    reason: (list: string) => `You are receiving this email because you are subscribed to “${list}”.`,
    unsubscribe: 'Unsubscribe',
    preferences: 'Email preferences',
  },
  /** Of an email from a template, by its ground. */
  emailFooter: {
    REQUEST: (sender: string) => `You are receiving this email from ${sender} because you asked for it.`,
    CONTRACT: (sender: string) =>
      `You are receiving this email from ${sender} because of your account or your order there.`,
    SECURITY: (sender: string) =>
      `You are receiving this email from ${sender} because it concerns the security of your account there.`,
    LEGAL: (sender: string) => `You are receiving this email from ${sender} because the law requires it.`,
  },
}

/** The texts of the mails that Rapport writes. */
export type MailTexts = typeof en
