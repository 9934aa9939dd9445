export const en = {
  brokenLink: 'This link does not work',
  brokenTrackedLink: 'The link may be incomplete. Please click it again in the email.',
  suspended: {
    title: 'This is not possible at the moment',
    text: 'This service is not available now. Please try again later.',
  },
  /** 429 and 503. */
  tooManyRequests: {
    title: 'Please try again in a minute',
    text: 'This page was opened too often from your network. Nothing was changed.',
  },
  unavailable: {
    title: 'This is not possible at the moment',
    text: 'Please try again in a moment. Nothing was changed.',
  },
  continue: 'Continue',
  subscription: {
    /** The object of the sentences below. */
    emails: (list: string, sender: string) => `“${list}” from ${sender}`,
    anyEmails: 'emails from this list',
    /** By an unsubscribe link whose list was deleted. */
    allNewsletters: 'the newsletters of this sender, including those that are added later',
    confirm: {
      title: 'Confirm your subscription',
      text: (emails: string) => `Click the button to receive ${emails}. You can unsubscribe at any time.`,
      button: 'Confirm subscription',
    },
    confirmed: {
      title: 'You are subscribed',
      text: (emails: string) => `You will receive ${emails}. You can close this page.`,
    },
    unsubscribe: {
      title: 'Unsubscribe',
      text: (emails: string) => `Click the button to stop receiving ${emails}.`,
      button: 'Unsubscribe',
    },
    unsubscribed: {
      title: 'You are unsubscribed',
      text: (emails: string) => `You will no longer receive ${emails}.`,
      undo: 'If this was a mistake, you can undo it within ten minutes.',
      button: 'Subscribe again',
    },
    restored: {
      title: 'You are subscribed again',
      text: (emails: string) => `You will receive ${emails} as before. You can close this page.`,
    },
    test: {
      title: 'This is a test email',
      text: 'The link does nothing. In the campaign, it unsubscribes the recipient.',
    },
    brokenConfirmation:
      'The link may be incomplete or older than seven days. Please use the link in the latest email, or subscribe again.',
    brokenUnsubscribe:
      'The link is incomplete. Please click it again in the email, or reply to the email and ask to be removed.',
    brokenUndo:
      'You can undo this only within ten minutes after you unsubscribed. Please subscribe again where you signed up.',
  },
  tracking: {
    /** What is recorded: the object of the sentences below. */
    opens: 'when you open its emails',
    clicks: 'when you click links in its emails',
    opensAndClicks: 'when you open its emails and click links in them',
    /** Beside the confirmation of a subscription: above the boxes, and once something is granted. */
    also: (sender: string) =>
      `You can also allow ${sender} to record the following. Your subscription does not depend on it, and you can change it at any time.`,
    granted: (sender: string, what: string) => `${sender} may record ${what} from now on.`,
    confirm: {
      title: 'Confirm what may be recorded',
      text: (sender: string, what: string) =>
        `Click the button to let ${sender} record ${what}. You can change this at any time.`,
      button: 'Confirm',
    },
    confirmed: {
      title: 'Thank you',
      text: (sender: string, what: string) => `${sender} may record ${what} from now on. You can close this page.`,
    },
    broken:
      'The link may be incomplete or older than seven days, or you have chosen something else since. Nothing was changed.',
  },
  preferences: {
    title: 'Your email preferences',
    text: (sender: string, email: string) => `Choose which emails ${sender} sends to ${email}.`,
    received: 'You receive',
    left: 'You no longer receive',
    pending: 'Not confirmed yet',
    noLists: (sender: string) => `${sender} sends you no newsletters.`,
    asked: (email: string) => `To subscribe again, use the link in the email that we have sent to ${email}.`,
    notAsked:
      'No email was sent. You may have received one a short time ago: please use the link in it, or try again later.',
    stop: {
      title: 'No more newsletters',
      text: (sender: string) =>
        `${sender} will no longer send you any newsletters, including those that are added later. Emails about an account or an order still come.`,
      button: 'Unsubscribe from all newsletters',
    },
    stopped: (sender: string) =>
      `${sender} no longer sends you any newsletters, including those that are added later. Emails about an account or an order still come.`,
    tracking: {
      title: 'What may be recorded',
      opens: 'When I open the emails',
      clicks: 'When I click links',
      levels: { PERSON: 'Recorded now', ANONYMOUS: 'Counted now, without your name', OFF: 'Not recorded now' },
      button: 'Save',
      saved: 'Saved. What you do not allow is no longer recorded about you, not even for emails that you already have.',
      asked: (email: string) => `To allow this, use the link in the email that we have sent to ${email}.`,
    },
    data: {
      title: 'Your data',
      text: (sender: string, email: string) =>
        `Everything that ${sender} keeps about you in its contact database, in an email to ${email}.`,
      button: 'Send me my data',
      sent: (email: string) => `We are sending your data to ${email}.`,
      notSent: 'Your data was not sent. You may have received it a short time ago. Please try again later.',
    },
    former:
      'This link belongs to a former email address, so it cannot show what you receive. You can still unsubscribe from all newsletters here.',
    erased: (sender: string) => `${sender} keeps no data about you in its contact database.`,
    erasedAndStopped: (sender: string) =>
      `In its contact database, ${sender} keeps only your wish to receive no newsletters.`,
    closed: {
      title: 'This sender no longer exists',
      text: 'It sends you no more newsletters, and your data is deleted.',
    },
    test: 'The link does nothing here. In the campaign, it leads to the preferences of the recipient.',
    link: 'All email preferences',
  },
  form: {
    problems: 'Please correct the following:',
    titleWithProblems: (form: string) => `Please check: ${form}`,
    changed: 'This form has changed. Please review your answers and submit again.',
    optional: '(optional)',
    choose: 'Please choose',
    honeypot: 'Leave this empty',
    send: 'Send',
    unavailable: {
      title: 'This form is not available',
      text: 'It may have been closed, or the link may be incomplete.',
    },
    failed: 'The form could not be sent. Please try again.',
    /** Below the success message of a form that asks by email. */
    confirm: 'If you asked for emails, please confirm with the link in the email that we send you.',
    tooManyAttempts: 'Too many attempts. Please try again in a minute.',
  },
  account: {
    name: 'Your name',
    email: 'Email',
    password: 'Password',
    forgotPassword: {
      title: 'Forgot your password?',
      text: 'Enter the email address of your account. We will send you a link to choose a new password.',
      button: 'Send link',
      done: {
        title: 'Check your email',
        text: 'If this address has an account, we have sent a link to it. The link expires after one hour.',
      },
    },
    resetPassword: {
      title: 'Choose a new password',
      heading: (email: string) => `Choose a new password for ${email}`,
      text: 'Use at least 12 characters. You will be logged out on all devices.',
      button: 'Set password',
      done: { title: 'Your password is set', text: 'You are logged out on all devices. You can close this page.' },
      broken: 'It may be incomplete, already used or older than one hour. Request a new link to choose a password.',
      requestLink: 'Request a new link',
    },
    acceptInvite: {
      title: (workspace: string) => `Join ${workspace}`,
      heading: (workspace: string, email: string) => `Join ${workspace} as ${email}`,
      newAccount: 'Choose a password with at least 12 characters.',
      knownAccount: 'You already have an account with this address. Enter its password.',
      button: 'Join',
      done: { title: 'Welcome', text: 'You have joined the workspace. You can close this page.' },
      broken:
        'It may be incomplete, already used, withdrawn or older than seven days. Ask the person who invited you to send the invite again.',
      wrongPassword: 'This address already has an account: use its password.',
    },
    verifyEmail: {
      title: 'Verify your email address',
      heading: (email: string) => `Verify ${email}`,
      text: 'Enter your password to verify that this email address is yours.',
      button: 'Verify',
      done: { title: 'Your email address is verified', text: 'Thank you. You can close this page.' },
      broken:
        'It may be incomplete or older than seven days. Request a new verification email. Or choose a new password: this verifies your address too.',
      wrongPassword: 'The password is wrong.',
    },
    problems: {
      passwordMissing: 'Please enter a password.',
      passwordLength: 'The password must have 12 to 128 characters.',
      passwordUnsuitable: 'The password is too common, or has characters that are not allowed. Please choose another.',
      name: 'Your name can have at most 200 characters, without line breaks.',
      tooManyAttempts: 'Too many failed attempts. Please wait a few minutes and try again.',
      failed: 'This did not work. Please try again later.',
    },
  },
}

/** The texts of the hosted pages. */
export type PageTexts = typeof en
