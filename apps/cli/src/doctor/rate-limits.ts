import { isAllowedAddress } from '@rapport/core/webhooks/address-policy.ts'
import { type Check, findingsAbout } from './finding.ts'

const about = 'RATE_LIMIT_EXEMPT'
const { warn } = findingsAbout(about)

export const rateLimitsCheck: Check = {
  about,
  async run({ config: { RATE_LIMIT_EXEMPT = [], TRUST_PROXY = [] } }) {
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
