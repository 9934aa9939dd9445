import { type Check, findingsAbout } from './finding.ts'

const { warn } = findingsAbout('Sign-up')

/** Anyone who signs up could send from any address. */
export const signUpCheck: Check = {
  about: 'Sign-up',
  async run({ config: { SIGN_UP, MAIL_FROM_DOMAINS = [], REQUIRE_VERIFIED_EMAIL } }) {
    if (SIGN_UP !== 'open' || MAIL_FROM_DOMAINS.length > 0 || REQUIRE_VERIFIED_EMAIL !== false) return []
    return [
      warn(
        'anyone can sign up, and send from any address without verifying their own',
        'Set SIGN_UP=closed, MAIL_FROM_DOMAINS or REQUIRE_VERIFIED_EMAIL=true.',
      ),
    ]
  },
}
