/** The environment variables of sending domains. */
import { isIP } from 'node:net'
import { commaSeparated, dnsName } from './variable-types.ts'
import { z } from 'zod'

const dnsServer = z
  .string()
  .refine(isDnsServer, 'must list addresses of name servers such as 10.0.0.2 or 127.0.0.1:5353')

/** Whether `Resolver.setServers` accepts the text: an IP address, with or without a port. */
export function isDnsServer(text: string): boolean {
  const [, bracketed, address = bracketed] = /^(?:\[(.+)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? []
  return isIP(address ?? text) > 0
}

export const domainVariables = {
  REQUIRE_VERIFIED_DOMAIN: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .transform((text) => text === 'true')
    .describe('Whether campaigns are sent only from domains that their workspace has verified'),
  RETURN_PATH_DOMAIN: dnsName('must be a domain name')
    .transform((name) => name.toLowerCase())
    .optional()
    .describe('The domain to which bounces are sent'),
  DNS_SERVER: commaSeparated(dnsServer).describe('Name servers for the checks of sending domains'),
}
