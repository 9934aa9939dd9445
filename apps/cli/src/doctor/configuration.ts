/** Checks of valid variables that may be a mistake. */
import { defaultRetention } from '@rapport/core/kernel/retention.ts'
import { isAllowedAddress } from '@rapport/core/webhooks/address-policy.ts'
import { type Check, findingsAbout } from './finding.ts'

export const rateLimitsCheck: Check = {
  about: 'RATE_LIMIT_EXEMPT',
  async run({ config: { RATE_LIMIT_EXEMPT = [], TRUST_PROXY = [] } }) {
    const { warn } = findingsAbout('RATE_LIMIT_EXEMPT')
    return RATE_LIMIT_EXEMPT.flatMap((network) => {
      const [address = '', bits] = network.split('/')
      if (bits === '0')
        return [warn(`${network} exempts every client`, 'List the addresses of your own back ends only.')]
      const isPublic = isAllowedAddress(address, [])
      if (isPublic || TRUST_PROXY.length > 0) return []
      return [
        warn(
          `${network} is private and TRUST_PROXY is empty: a proxy in this network exempts all its clients`,
          'If the API is behind a proxy, set TRUST_PROXY to the network of the proxy.',
        ),
      ]
    })
  },
}

/** Anyone who signs up could send from any address. */
export const signUpCheck: Check = {
  about: 'Sign-up',
  async run({ config: { SIGN_UP, MAIL_FROM_DOMAINS = [], REQUIRE_VERIFIED_EMAIL } }) {
    if (SIGN_UP !== 'open' || MAIL_FROM_DOMAINS.length > 0 || REQUIRE_VERIFIED_EMAIL !== false) return []
    return [
      findingsAbout('Sign-up').warn(
        'anyone can sign up, and send from any address without verifying their own',
        'Set SIGN_UP=closed, MAIL_FROM_DOMAINS or REQUIRE_VERIFIED_EMAIL=true.',
      ),
    ]
  },
}

/** Events and deliveries are in weekly partitions. */
const partitionDays = 7

/** An erasure searches no texts: what quotes a deleted contact elsewhere expires with the events. */
export const retentionCheck: Check = {
  about: 'RETENTION_EVENTS_DAYS',
  async run({ config: { RETENTION_EVENTS_DAYS: days = 0 } }) {
    const usual = defaultRetention.eventsDays
    if (days <= usual) return []
    return [
      findingsAbout('RETENTION_EVENTS_DAYS').warn(
        `what quotes a deleted contact is kept for up to ${days + partitionDays} days, not ${usual + partitionDays}`,
        `Set it to ${usual} or less, or tell people this period: docs/guides/privacy.md.`,
      ),
    ]
  },
}
